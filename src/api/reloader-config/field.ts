interface Described {
  /** What `kubectl explain` and the documentation say. */
  readonly description: string;
  /** The schema of the operator that Attune replaces does not have it: its CRD, where it is installed, drops the field. */
  readonly isNew?: true;
}

/** A field of the API object, as OpenAPI describes it. There is nothing in it that could refuse a value of the right type. */
export type Field =
  | (Described & { readonly type: 'string'; readonly format?: 'date-time' })
  | (Described & { readonly type: 'integer' | 'boolean' })
  | ListField
  | MapField
  | ObjectField;

interface ListField extends Described {
  readonly type: 'array';
  readonly items: Field;
  /** One element for each value of this field, which several writers may own; else the list is replaced as a whole. */
  readonly key?: string;
}

interface MapField extends Described {
  readonly type: 'map';
  readonly values: Field;
}

export interface ObjectField extends Described {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
  /** It is replaced as a whole. */
  readonly isAtomic?: true;
}

/** The TypeScript type of what a field holds. */
export type ValueOf<F> = F extends { readonly type: 'string' }
  ? string
  : F extends { readonly type: 'integer' }
    ? number
    : F extends { readonly type: 'boolean' }
      ? boolean
      : F extends { readonly type: 'array'; readonly items: infer Item }
        ? readonly ValueOf<Item>[]
        : F extends { readonly type: 'map'; readonly values: infer Value }
          ? Readonly<Record<string, ValueOf<Value>>>
          : F extends { readonly type: 'object'; readonly properties: infer Fields }
            ? ObjectOf<Fields, F extends { readonly required: readonly (infer Name)[] } ? Name : never>
            : never;

type ObjectOf<Fields, Required> = {
  readonly [Name in keyof Fields as Name extends Required ? Name : never]: ValueOf<Fields[Name]>;
} & {
  readonly [Name in keyof Fields as Name extends Required ? never : Name]?: ValueOf<Fields[Name]> | undefined;
};

/** A field and where it is: `spec.targets[].name`. */
export interface Row {
  readonly path: string;
  readonly field: Field;
}

/** A field and all fields in it, from the outside in. */
export function rowsOf(path: string, field: Field): readonly Row[] {
  const inner = field.type === 'array' ? field.items : field;
  const outer = field.type === 'array' ? `${path}[]` : path;
  const fields = inner.type === 'object' ? Object.entries(inner.properties) : [];
  return [{ path, field }, ...fields.flatMap(([name, each]) => rowsOf(`${outer}.${name}`, each))];
}
