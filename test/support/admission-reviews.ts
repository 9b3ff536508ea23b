import { randomFrom } from './http-answers.ts';

/** Stands in annotations, variables and data of every object, and must never be seen in a log. */
export const PIN = 'pin-0815-4711';

/** The body of a request: a proper review, in up to four ways damaged. The same for the same seed. */
export function damagedReview(seed: number): Buffer {
  const random = randomFrom(seed);
  const below: Below = (limit) => Math.floor(random() * limit);
  const pick: Pick = (of) => of[below(of.length)] as (typeof of)[number];
  const review = properReview(below, pick);
  const damages = below(4);
  for (let left = damages; left > 0; left -= 1) pick(VALUE_DAMAGES)(pick(placesIn(review)), below, pick);
  let bytes: Buffer = Buffer.from(JSON.stringify(review));
  if (below(3) === 0) for (let left = 1 + below(3); left > 0; left -= 1) bytes = pick(BYTE_DAMAGES)(bytes, below, pick);
  return bytes;
}

/**
 * A review as large as the API server lets through: long annotations, deep values, many variables, containers or members,
 * of this or that type. The same for the same seed.
 */
export function giantReview(seed: number): Buffer {
  const random = randomFrom(seed);
  const below: Below = (limit) => Math.floor(random() * limit);
  const pick: Pick = (of) => of[below(of.length)] as (typeof of)[number];
  const review = properReview(below, pick);
  const { request } = review as { readonly request: Members };
  const text = pick(GIANTS)(below, pick);
  // In the new object, the old one, or both. It is put into the text: what is so deep cannot be made one.
  const places = placesIn(request).filter(({ member }) => member !== 'uid');
  const wanted = pick<(place: Place) => boolean>([
    () => true,
    ({ member }) => GIANT_MEMBERS.includes(member),
    ({ member }) => GIANT_MEMBERS.includes(member),
  ]);
  const fit = places.filter(wanted);
  for (let left = 1 + below(2); left > 0; left -= 1) put(pick(fit.length > 0 ? fit : places), GIANT);
  return Buffer.from(JSON.stringify(review).replaceAll(`"${GIANT}"`, text));
}

type Below = (limit: number) => number;
type Pick = <T>(of: readonly T[]) => T;
type Members = Record<string, unknown>;

const KINDS = [
  ['apps', 'v1', 'Deployment'],
  ['apps', 'v1', 'StatefulSet'],
  ['apps', 'v1', 'DaemonSet'],
  ['batch', 'v1', 'CronJob'],
  ['batch', 'v1', 'Job'],
  ['argoproj.io', 'v1alpha1', 'Rollout'],
  ['apps.openshift.io', 'v1', 'DeploymentConfig'],
  ['', 'v1', 'Pod'],
] as const;

function properReview(below: Below, pick: Pick): Members {
  const [group, version, kind] = pick(KINDS);
  const object = workload(kind, below, pick);
  const operation = pick(['CREATE', 'UPDATE', 'UPDATE', 'UPDATE', 'DELETE', 'CONNECT']);
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: `uid-${below(1000)}`,
      kind: { group, version, kind },
      operation,
      namespace: 'shop',
      ...(below(8) === 0 && { subResource: 'scale' }),
      userInfo: { username: pick(['jane', 'system:serviceaccount:attune:attune']), groups: ['system:authenticated'] },
      dryRun: below(4) === 0,
      options: { kind: 'UpdateOptions', fieldManager: pick(['kubectl', 'helm', 'Reloader']) },
      oldObject: operation === 'CREATE' ? null : workload(kind, below, pick),
      object: operation === 'DELETE' ? null : object,
    },
  };
}

const HASH = 'pod-reloader.cs.sap.com/config-hash';

function workload(kind: string, below: Below, pick: Pick): Members {
  const some = (annotations: Members): Members =>
    Object.fromEntries(Object.entries(annotations).filter(() => below(2) === 0));
  const template = {
    metadata: {
      labels: { app: 'web' },
      annotations: some({
        [HASH]: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
        'reloader.stakater.com/last-reloaded-from': '{"type":"CONFIGMAP","name":"app","namespace":"shop"}',
        'attune.dev/nudge': '7',
        note: PIN,
      }),
    },
    spec: { containers: Array.from({ length: below(4) }, (_, index) => container(`c${index}`, below, pick)) },
  };
  const metadata = {
    name: 'web',
    namespace: 'shop',
    generation: below(10),
    labels: some({ 'pod-reloader.cs.sap.com/ignored': pick(['true', 'false']) }),
    annotations: some({
      'reloader.stakater.com/auto': pick(['true', 'false']),
      'configmap.reloader.stakater.com/reload': 'app,other',
      'pod-reloader.cs.sap.com/configmaps': pick(['app', 'app, other', ',', ' ', 'app,app']),
      'pod-reloader.cs.sap.com/secrets': pick(['db', 'db,tls,']),
      [HASH]: pick(['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855']),
      'attune.dev/record': `{"v":1,"note":"${PIN}"}`,
      'kubectl.kubernetes.io/last-applied-configuration': `{"data":"${PIN}"}`,
    }),
  };
  const spec = kind === 'CronJob' ? { jobTemplate: { spec: { template } } } : { replicas: below(3), template };
  return { apiVersion: 'apps/v1', kind, metadata, spec, data: { pin: PIN } };
}

function container(name: string, below: Below, pick: Pick): Members {
  const mark = { name: 'STAKATER_APP_CONFIGMAP', value: 'da39a3ee5e6b4b0d3255bfef95601890afd80709' };
  const env = [
    mark,
    { name: 'PIN', value: PIN },
    { name: 'DB', valueFrom: { secretKeyRef: { name: 'db', key: 'a' } } },
  ];
  return {
    name,
    image: 'web:1',
    ...(below(4) > 0 && { env: env.slice(below(3), 1 + below(3)) }),
    ports: pick([[], null]),
  };
}

/** A member of an object, or an element of a list. */
interface Place {
  readonly parent: Members;
  readonly member: string;
  readonly root: Members;
}

function placesIn(root: Members): readonly Place[] {
  const places: Place[] = [];
  const visit = (parent: Members): void => {
    for (const [member, value] of Object.entries(parent)) {
      places.push({ parent, member, root });
      if (typeof value === 'object' && value !== null && places.length < 1000) visit(value as Members);
    }
  };
  visit(root);
  // Nothing is left to be damaged: it gets something.
  return places.length > 0 ? places : [{ parent: root, member: 'request', root }];
}

type ValueDamage = (place: Place, below: Below, pick: Pick) => void;

const put = ({ parent, member }: Place, value: unknown): void => {
  if (!Array.isArray(parent)) delete parent[member];
  Object.defineProperty(parent, member, { value, enumerable: true, configurable: true, writable: true });
};

const deep = (depth: number, pick: Pick): unknown => {
  let value: unknown = 1;
  const wrap = pick<(inner: unknown) => unknown>([(inner) => [inner], (inner) => ({ metadata: inner })]);
  for (let level = 0; level < depth; level += 1) value = wrap(value);
  return value;
};

const ODD = [
  null,
  [],
  {},
  '',
  ' ',
  0,
  -1,
  1e308,
  true,
  false,
  [null],
  [[]],
  { metadata: null },
  'null',
  'true',
  '{}',
  '__proto__',
];
const UNICODE = ['ü', '\u0000', '\u2028', '\ud800', '\udc00x', '👍🏽', '\ufeff', '\u202e', 'İ', '\r\n', '"', '\\'];

const VALUE_DAMAGES: readonly ValueDamage[] = [
  (place, _, pick) => put(place, structuredClone(pick(ODD))),
  (place, _, pick) => put(place, structuredClone(pick(ODD))),
  (place, _, pick) => put(place, pick(UNICODE).repeat(3)),
  (place, below) => put(place, 'x'.repeat(below(100_000))),
  (place, below, pick) => put(place, deep(below(below(10) === 0 ? 1500 : 60), pick)),
  (place, below) =>
    put(
      place,
      Array.from({ length: below(1000) }, (_, index) => ({ name: `c${index}`, env: null })),
    ),
  ({ parent, member }) => {
    delete parent[member];
  },
  // Under another name.
  ({ parent, member }, _, pick) => {
    put(
      { parent, member: pick([...UNICODE, '__proto__', 'constructor', 'toString', '']), root: parent },
      structuredClone(parent[member]),
    );
  },
  // In the place of something else. Texts stay where they are: a name may be logged, and what is moved there would be one.
  (place, _, pick) => {
    const parts = placesIn(place.root).filter(({ parent, member }) => typeof parent[member] === 'object');
    const from = parts.length > 0 ? pick(parts) : place;
    if (typeof from.parent[from.member] === 'object') put(place, structuredClone(from.parent[from.member]));
  },
];

const GIANT = 'giant';
const GIANT_MEMBERS = [
  'annotations',
  'containers',
  'env',
  'pod-reloader.cs.sap.com/configmaps',
  'pod-reloader.cs.sap.com/secrets',
  'configmap.reloader.stakater.com/reload',
  'attune.dev/record',
  'attune.dev/nudge',
];

const many = (count: number, each: (index: number) => string): string =>
  Array.from({ length: count }, (_, at) => each(at)).join();
const HEX = 'da39a3ee5e6b4b0d3255bfef95601890afd80709';

/** Each is JSON, of at most a megabyte and a half. */
const GIANTS: readonly ((below: Below, pick: Pick) => string)[] = [
  (below) => `"${'x'.repeat(below(1_500_000))}"`,
  (below) => `"${'ü'.repeat(below(125_000))}"`,
  // Names, some of them twice, some that no object can have.
  (below, pick) => {
    const [end, most] = [pick(['', ' ', '/', ',']), pick([100, 5000, 60_000])];
    return `"${many(below(most), (at) => `n${at % 50_000}${end}`)}"`;
  },
  (below) => `"${','.repeat(below(250_000))}"`,
  (below) => {
    const depth = 1 + below(300_000);
    return '['.repeat(depth) + ']'.repeat(depth);
  },
  (below, pick) => {
    const depth = 1 + below(pick([600, 12_000, 100_000]));
    return `${'{"metadata":'.repeat(depth)}1${'}'.repeat(depth)}`;
  },
  (below) => `[${many(below(20_000), (at) => `{"name":"STAKATER_N${at}_CONFIGMAP","value":"${HEX}"}`)}]`,
  (below) => `[${many(below(20_000), () => `{"name":"STAKATER_APP_CONFIGMAP","value":"${HEX}"}`)}]`,
  (below) =>
    `[${many(below(20_000), (at) => `{"name":"c${at % 1000}","env":[{"name":"STAKATER_APP_CONFIGMAP","value":"${HEX}"}]}`)}]`,
  (below) => `[${many(below(100_000), () => '{"9":1}')}]`,
  (below) => `{${many(below(50_000), (at) => `"k${at}":"v"`)}}`,
  (below, pick) => `[${many(below(100_000), () => pick(['null', '[]', '{}', '""', '1e308', 'true']))}]`,
];

type ByteDamage = (bytes: Buffer, below: Below, pick: Pick) => Buffer;

const spliced = (bytes: Buffer, at: number, length: number, instead: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), instead, bytes.subarray(at + length)]);

const BYTES = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  ' ',
  '\0',
  '\n',
  'null',
  '0',
  '\xff',
  '\xc3',
  '//',
  'NaN',
  '\\u00',
];

const BYTE_DAMAGES: readonly ByteDamage[] = [
  (bytes, below) => spliced(bytes, below(bytes.length), 1, Buffer.from([below(256)])),
  (bytes, below, pick) => spliced(bytes, below(bytes.length), 0, Buffer.from(pick(BYTES), 'latin1')),
  (bytes, below) => spliced(bytes, below(bytes.length), 1 + below(5), Buffer.alloc(0)),
  (bytes, below) => {
    const at = below(bytes.length);
    return spliced(bytes, at, 0, bytes.subarray(at, at + 1 + below(8)));
  },
  // Cut off, or followed by more.
  (bytes, below) => bytes.subarray(0, below(bytes.length + 1)),
  (bytes, _, pick) => Buffer.concat([bytes, Buffer.from(pick([' ', '\n', '{}', '\0', ']']))]),
  (bytes) => Buffer.concat([Buffer.from('\ufeff'), bytes]),
];
