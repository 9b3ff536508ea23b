import { type Controller, type Stage, type StageOptions, type StageStart, stage } from './controller.ts';
import { type Backend, type PassThrough, passThrough } from './pass-through.ts';
import { api } from './sandbox.ts';
import { until } from './wait.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** A stage on which admission is served, behind a pass-through, for the namespaces of the stage alone. */
export interface AdmissionStage extends Stage {
  /** Of the MutatingWebhookConfiguration. */
  readonly name: string;
  readonly service: PassThrough;
  /** Flags and environment of every part that has to do with admission. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** A replica of the controller with `--admission`, or of `attune admission`, once it serves. */
  serve(flags?: readonly string[], options?: StageStart & { readonly alone?: boolean }): Promise<Replica>;
  /** The registration is complete: the API server trusts the bundle. */
  untilRegistered(policy?: 'Ignore' | 'Fail'): Promise<void>;
  registration(): Promise<Readonly<Record<string, unknown>> | undefined>;
}

export interface Replica extends Controller {
  readonly backend: Backend;
}

/** `install` makes the registration: usually `attune admission install` with these arguments. */
export async function admissionStage(
  install: (argv: readonly string[], env: Readonly<Record<string, string>>) => Promise<void>,
  options: StageOptions = {},
): Promise<AdmissionStage> {
  const base = await stage(options);
  const service = await passThrough();
  const name = `attune-${base.home}`;
  const env = { ATTUNE_ADMISSION_NAME: name };
  const flags = [`--namespaces=${base.spaces.join(',')}`, `--admission-url=https://127.0.0.1:${service.port}`];
  await grant(base, name);
  await install(flags, { ...env, ATTUNE_NAMESPACE: base.home });
  const registration = async () =>
    (await api().find(`${CONFIGURATIONS}/${name}`)) as Record<string, unknown> | undefined;
  return {
    ...base,
    name,
    service,
    flags,
    env,
    async serve(more = [], { alone = false, ...start } = {}) {
      const own = ['--admission-listen=127.0.0.1:0', ...flags.slice(1), ...more];
      const controller = await base.start([...(alone ? ['admission'] : ['--admission']), ...own], {
        ...start,
        env: { ...env, ...start.env },
      });
      const line = await controller.untilLine(/admission is ready.*port/);
      const backend = {
        port: Number(/port"?[=:] ?"?(\d+)/.exec(line)?.[1]),
        isReady: async () => (await controller.ask('/readyz')).status === 200,
      };
      service.backends.add(backend);
      return Object.assign(controller, { backend });
    },
    untilRegistered: (policy = 'Ignore') =>
      until(
        async () => {
          const webhooks = ((await registration())?.['webhooks'] ?? []) as readonly Webhook[];
          const isTrusted = webhooks.every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== '');
          return webhooks.length > 0 && isTrusted && webhooks.every(({ failurePolicy }) => failurePolicy === policy);
        },
        { what: 'the registration' },
      ).then(() => {}),
    registration,
    async [Symbol.asyncDispose]() {
      const admin = api();
      if (await registration()) await admin.delete(`${CONFIGURATIONS}/${name}`);
      await admin.delete(`${RBAC}/clusterrolebindings/${name}`);
      await admin.delete(`${RBAC}/clusterroles/${name}`);
      await base[Symbol.asyncDispose]();
    },
  };
}

interface Webhook {
  readonly clientConfig: { readonly caBundle?: string };
  readonly failurePolicy: string;
}

/** What the chart grants beside the controller's own rights. */
async function grant({ home }: Stage, name: string): Promise<void> {
  const admin = api();
  const subjects = [{ kind: 'ServiceAccount', name: 'attune', namespace: home }];
  const bind = (kind: string) => ({ roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name }, subjects });
  await admin.create(`${RBAC}/clusterroles`, {
    metadata: { name },
    rules: [
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations'],
        resourceNames: [name],
        verbs: ['get', 'patch'],
      },
    ],
  });
  await admin.create(`${RBAC}/clusterrolebindings`, { metadata: { name }, ...bind('ClusterRole') });
  await admin.create(`${RBAC}/namespaces/${home}/roles`, {
    metadata: { name },
    rules: [
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: [`${name}-cert`], verbs: ['get', 'update'] },
    ],
  });
  await admin.create(`${RBAC}/namespaces/${home}/rolebindings`, { metadata: { name }, ...bind('Role') });
}
