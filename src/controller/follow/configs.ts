import { NAMESPACES, RELOADER_CONFIGS } from '../../api/resources.ts';
import { namesOthers, type ReloaderConfig } from '../../domain/reloader-config/config.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { ListScope } from '../../kube/client.ts';
import type { ReflectEvent } from '../../kube/watch/reflector.ts';
import { type NamespaceFacts, namespaceFacts } from '../../model/reloader-configs/consents.ts';
import type { FollowDeps } from './subscriptions.ts';

interface SeenObject {
  readonly config: ReloaderConfig;
  readonly status: unknown;
}

/** Follows ReloaderConfigs as soon as the server serves them, and then who allows what, if one of them needs to know. */
export async function followConfigs(deps: FollowDeps, scopes: readonly ListScope[]): Promise<void> {
  const { configs, definition, statuses, watches, report, options, signal, engine } = deps;
  let followsNamespaces = false;
  /** As the server last showed them, by the keys of the events. */
  const shown = new Map<string, SeenObject>();
  /** Where the server does not serve them, and since when. */
  const unserved = new Map<ListScope, Moment>();
  const seen = ({ config, status }: SeenObject, moment: Moment): void => {
    const known = configs.get(config.ref);
    const isSame = known !== undefined && isAlike(known, config);
    const touched = isSame ? undefined : configs.put(config);
    statuses.configSeen(config, status);
    if (!touched) return;
    if (!followsNamespaces && options.scope.mode === 'global' && namesOthers(config)) {
      followsNamespaces = true;
      followConsents(deps);
    }
    asksChanged(deps, touched, moment);
  };
  const gone = ({ ref }: ReloaderConfig, moment: Moment): void => {
    statuses.configGone(ref);
    asksChanged(deps, configs.remove(ref), moment);
  };
  /** Their definition was removed, and they with it; or the server does not know it for a moment, and they are still there. */
  const drop = (scope: ListScope): void => {
    unserved.set(scope, { initial: true, resourceVersion: String(engine.seen) });
    for (const { config } of shown.values()) if (isWithin(scope, config)) gone(config, {});
  };
  /** They are served again. A listing tells only what differs: those of which it said nothing are as they were. */
  const restore = (scope: ListScope): void => {
    const since = unserved.get(scope);
    if (!since) return;
    unserved.delete(scope);
    for (const object of shown.values()) {
      if (isWithin(scope, object.config) && !configs.get(object.config.ref)) seen(object, since);
    }
  };
  const onEvent = (event: ReflectEvent<SeenObject>, scope: ListScope): void => {
    if (event.type === 'add' || event.type === 'change') {
      shown.set(event.key, event.value);
      seen(event.value, event);
    }
    if (event.type === 'remove') {
      shown.delete(event.key);
      gone(event.previous.config, event);
    }
    if (event.type === 'synced') {
      restore(scope);
      void definition.read(signal);
    }
    if (event.type === 'unavailable' && event.error.status === 404) drop(scope);
  };
  await watches.followOnceServed<SeenObject>({
    resource: RELOADER_CONFIGS,
    role: 'other',
    scopes,
    digest: (object) => ({
      config: parseReloaderConfig(object, options.keys.ignore),
      status: (object as { readonly status?: unknown }).status,
    }),
    onEvent,
    isAbsent: () => report.withoutConfigs(),
  });
}

function asksChanged({ engine, statuses }: FollowDeps, keys: ReadonlySet<WorkloadKey>, moment: Moment): void {
  const { initial = false, resourceVersion = engine.seen } = moment;
  engine.asksChanged(keys, Number(resourceVersion), initial);
  statuses.asksChanged(keys);
}

const isWithin = ({ namespace }: ListScope, { ref }: ReloaderConfig): boolean =>
  namespace === undefined || namespace === ref.namespace;

/** Whether nothing was written but its status. */
const isAlike = (one: ReloaderConfig, other: ReloaderConfig): boolean =>
  one.uid === other.uid && one.generation === other.generation && one.isIgnored === other.isIgnored;

/** When something happened, and whether only a listing shows it; that something is gone may be known without a version. */
interface Moment {
  readonly initial?: boolean;
  readonly resourceVersion?: string | undefined;
}

function followConsents(deps: FollowDeps): void {
  const { configs } = deps;
  deps.watches.follow<NamespaceFacts>({
    resource: NAMESPACES,
    role: 'other',
    scopes: [{}],
    light: true,
    digest: namespaceFacts,
    onEvent(event) {
      if (event.type !== 'add' && event.type !== 'change' && event.type !== 'remove') return;
      const facts = event.type === 'remove' ? undefined : event.value;
      asksChanged(deps, configs.namespaceSeen(event.key, facts), event);
    },
  });
}
