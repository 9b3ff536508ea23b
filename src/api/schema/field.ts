interface Described {
  /** What `kubectl explain` and the documentation say. */
  readonly description: string;
  /** The schema of the operator that Attune replaces does not have it: its CRD, where it is installed, drops the field. */
  readonly isNew?: true;
  /** What the API server checks beyond the type. It has a limit for what all rules may cost, so what they read is bounded. */
  readonly rules?: readonly Rule[];
}

/** A condition in CEL, where `self` is the field; servers before 1.25 do not know any. */
export interface Rule {
  readonly rule: string;
  /** What was expected, and what to do. */
  readonly message: string;
}

/** A field of an API object, as OpenAPI describes it. */
export type Field = TextField | NumberField | FlagField | QuantityField | ListField | MapField | ObjectField;

interface TextField extends Described {
  readonly type: 'string';
  readonly format?: 'date-time';
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly default?: string;
}

interface NumberField extends Described {
  readonly type: 'integer';
  /** Missing: int64. */
  readonly format?: 'int32';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

interface FlagField extends Described {
  readonly type: 'boolean';
  readonly default?: boolean;
}

/** An amount as Kubernetes writes it: `100Mi`, or a number. */
interface QuantityField extends Described {
  readonly type: 'quantity';
  readonly default?: string;
}

interface ListField extends Described {
  readonly type: 'array';
  readonly items: Field;
  /** One element for each value of this field, which several writers may own; else the list is replaced as a whole. */
  readonly key?: string;
}

interface MapField extends Described {
  readonly type: 'map';
  readonly values: Field;
  readonly maxProperties?: number;
}

export interface ObjectField extends Described {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
  /** It is replaced as a whole. */
  readonly isAtomic?: true;
  /** It keeps fields that are not listed: a type of Kubernetes that is only passed on. */
  readonly isOpen?: true;
}

/** The TypeScript type of what a field holds. */
export type ValueOf<F> = F extends { readonly type: 'string' }
  ? TextOf<F>
  : F extends { readonly type: 'integer' }
    ? number
    : F extends { readonly type: 'boolean' }
      ? boolean
      : F extends { readonly type: 'quantity' }
        ? string | number
        : F extends { readonly type: 'array'; readonly items: infer Item }
          ? readonly ValueOf<Item>[]
          : F extends { readonly type: 'map'; readonly values: infer Value }
            ? Readonly<Record<string, ValueOf<Value>>>
            : F extends { readonly type: 'object'; readonly properties: infer Fields }
              ? ObjectOf<Fields, F extends { readonly required: readonly (infer Name)[] } ? Name : never>
              : never;

type TextOf<F> = F extends { readonly enum: readonly (infer Word)[] } ? Word : string;

type ObjectOf<Fields, Required> = {
  readonly [Name in keyof Fields as Name extends Required ? Name : never]: ValueOf<Fields[Name]>;
} & {
  readonly [Name in keyof Fields as Name extends Required ? never : Name]?: ValueOf<Fields[Name]> | undefined;
};

/** A field and where it is: `spec.targets[].name`, and `status.instancesStatus.*.role` within a map of objects. */
export interface Row {
  readonly path: string;
  readonly field: Field;
}

/** A field and all fields in it, from the outside in. */
export function rowsOf(path: string, field: Field): readonly Row[] {
  const [inner, outer] = innermost(path, field);
  const fields = inner.type === 'object' ? Object.entries(inner.properties) : [];
  return [{ path, field }, ...fields.flatMap(([name, each]) => rowsOf(`${outer}.${name}`, each))];
}

/** What the elements of a list or the values of a map are, and where. */
function innermost(path: string, field: Field): readonly [Field, string] {
  if (field.type === 'array') return [field.items, `${path}[]`];
  return field.type === 'map' ? [field.values, `${path}.*`] : [field, path];
}
