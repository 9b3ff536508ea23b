import { type SourceKey, type SourceRef, sourceKey } from '../api/sources.ts';
import { type Ask, type Intent, namedIn } from '../domain/asks/ask.ts';
import { withoutExpressions } from '../domain/asks/expression-budget.ts';
import { countNamesOf, NO_ROOM_FOR_NAMES, withinNames } from '../domain/asks/name-budget.ts';
import { interests } from '../domain/judge/interests.ts';
import { earliest, judge } from '../domain/judge/judge.ts';
import type { Policy, Verdict } from '../domain/judge/verdict.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import type { Known } from './concerns.ts';
import type { ReloaderConfigs } from './reloader-configs/reloader-configs.ts';
import type { Interest } from './reverse-index.ts';

type Deps = Pick<Known, 'index' | 'sources'> & {
  readonly policy: Policy;
  readonly configs: Pick<ReloaderConfigs, 'asksFor' | 'expressions' | 'names'>;
  readonly workload: (key: WorkloadKey) => Workload | undefined;
};

/** A workload with all that is asked for it, and what that was made of. */
interface Asking {
  readonly asks: readonly Ask[];
  readonly refused: ReadonlySet<string> | undefined;
  readonly room: number | undefined;
  readonly as: Workload;
}

/**
 * Who asks for a pod template: the workload it belongs to, and a Rollout that has borrowed it by `workloadRef`. The write
 * goes to the template's owner, so that two who ask for the same change are one rollout.
 */
export class Verdicts {
  readonly #deps: Deps;
  readonly #asking = new WeakMap<Workload, Asking>();
  /** Expressions for which there is no room in the namespace. */
  readonly #refused = new Map<WorkloadKey, ReadonlySet<string>>();
  /** How many names have room in the namespace, where that is not all of them. */
  readonly #room = new Map<WorkloadKey, number>();
  readonly #borrowers = new Map<WorkloadKey, Map<WorkloadKey, Workload>>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** A new or changed workload takes its place in the index. Gives back whose template it borrows, if it does. */
  enter(workload: Workload): WorkloadKey | undefined {
    const key = workloadKey(workload.ref);
    const patterns = namedIn(workload.intent.asks).map(({ pattern }) => pattern);
    const refused = this.#deps.configs.expressions.hold(workload.ref.namespace, key, patterns);
    if (refused.size > 0) this.#refused.set(key, refused);
    else this.#refused.delete(key);
    const names = countNamesOf(workload.intent.asks);
    const room = this.#deps.configs.names.hold(workload.ref.namespace, key, names);
    if (room < names) this.#room.set(key, room);
    else this.#room.delete(key);
    const owner = this.#borrow(workload);
    this.#deps.index.set(key, this.#interest(workload));
    return owner;
  }

  leave({ ref }: Workload): void {
    const key = workloadKey(ref);
    this.#deps.index.remove(key);
    this.#deps.configs.expressions.release(ref.namespace, key);
    this.#deps.configs.names.release(key);
    this.#refused.delete(key);
    this.#room.delete(key);
    this.#giveBack(key);
  }

  of(workload: Workload, ref: SourceRef, flags = this.#deps.sources.flags(ref)): Verdict {
    const { policy } = this.#deps;
    const source = { ref, ...flags };
    const own = judge(this.asking(workload), source, policy);
    const theirs = Array.from(this.#borrowersOf(workload), (borrower) =>
      judge(withTemplateOf(this.asking(borrower), workload), source, policy),
    ).filter(({ reload }) => reload);
    return theirs.length === 0 ? own : byTemplate([own, ...theirs]);
  }

  /** The workload with all that is asked for it: what ReloaderConfigs ask comes before what its annotations do. */
  asking(workload: Workload): Workload {
    const key = workloadKey(workload.ref);
    const asks = this.#deps.configs.asksFor(key);
    const refused = this.#refused.get(key);
    const room = this.#room.get(key);
    if (asks.length === 0 && !refused && room === undefined) return workload;
    const known = this.#asking.get(workload);
    if (known?.asks === asks && known.refused === refused && known.room === room) return known.as;
    const own = room === undefined ? workload.intent : withRoomFor(workload.intent, room);
    const intent = { ...own, asks: [...asks, ...own.asks] };
    const as = { ...workload, intent: refused ? withoutExpressions(intent, refused) : intent };
    this.#asking.set(workload, { asks, refused, room, as });
    return as;
  }

  /** Whose template a workload has borrowed; undefined: it has its own. */
  ownerOf({ ref, workloadRef }: Workload): WorkloadKey | undefined {
    if (ref.kind !== 'Rollout' || this.#deps.policy.compat || workloadRef?.kind !== 'Deployment') return undefined;
    return workloadKey({ kind: 'Deployment', namespace: ref.namespace, name: workloadRef.name });
  }

  /** Who has borrowed the template of a workload. */
  borrowersOf(owner: WorkloadKey): Iterable<WorkloadKey> {
    return this.#borrowers.get(owner)?.keys() ?? [];
  }

  lends(owner: WorkloadKey): boolean {
    return (this.#borrowers.get(owner)?.size ?? 0) > 0;
  }

  #borrow(workload: Workload): WorkloadKey | undefined {
    if (workload.ref.kind !== 'Rollout' || this.#deps.policy.compat) return undefined;
    const key = workloadKey(workload.ref);
    const owner = this.ownerOf(workload);
    this.#giveBack(key);
    if (owner === undefined) return undefined;
    const borrowers = this.#borrowers.get(owner) ?? new Map<WorkloadKey, Workload>();
    this.#borrowers.set(owner, borrowers.set(key, workload));
    this.#reenter(owner);
    return owner;
  }

  #giveBack(key: WorkloadKey): void {
    for (const [owner, borrowers] of this.#borrowers) {
      if (!borrowers.delete(key)) continue;
      if (borrowers.size === 0) this.#borrowers.delete(owner);
      this.#reenter(owner);
    }
  }

  #reenter(owner: WorkloadKey): void {
    const workload = this.#deps.workload(owner);
    if (workload) this.#deps.index.set(owner, this.#interest(workload));
  }

  #borrowersOf({ ref }: Workload): Iterable<Workload> {
    return this.#borrowers.get(workloadKey(ref))?.values() ?? [];
  }

  #interest(workload: Workload): Interest {
    const { policy } = this.#deps;
    const { namespace } = workload.ref;
    const asking = [workload, ...this.#borrowersOf(workload)].map((each) =>
      interests(withTemplateOf(this.asking(each), workload), policy),
    );
    // References count even where nobody asked: the log can then say why nothing happened.
    const used = workload.references.map(({ kind, name }) => ({ kind, namespace, name }));
    const literal = new Map<SourceKey, SourceRef>();
    for (const ref of [...used, ...asking.flatMap((each) => each.literal)]) literal.set(sourceKey(ref), ref);
    return { literal: [...literal.values()], patterns: asking.flatMap(({ patterns }) => patterns) };
  }
}

function withRoomFor(intent: Intent, room: number): Intent {
  const { asks, problems } = withinNames(intent, room, NO_ROOM_FOR_NAMES);
  return { ...intent, asks, problems: [...intent.problems, ...problems] };
}

type Reload = Extract<Verdict, { readonly reload: true }>;

/**
 * The first one who asks decides, but for this: pods are the borrower's as well, and to evict those of the owner brings it
 * nothing, only a new template does; and one who wants an alert is enough.
 */
function byTemplate(verdicts: readonly Verdict[]): Verdict {
  const asking = verdicts.filter((verdict): verdict is Reload => verdict.reload);
  const [first] = asking as [Reload, ...Reload[]];
  const { because, container, strategy, ask } = first;
  return {
    ...{ reload: true, because, container, strategy },
    ask: { ...ask, overrides: { ...ask.overrides, rolloutStrategy: 'rollout' } },
    get rule() {
      return first.rule;
    },
    get isSilent() {
      return asking.every(({ isSilent }) => isSilent) ? true : undefined;
    },
    get askedSince() {
      return earliest(asking);
    },
  };
}

/** The borrower as the rules see it: it asks, for what the other one's containers use. */
export function withTemplateOf(borrower: Workload, owner: Workload): Workload {
  if (borrower.ref === owner.ref) return borrower;
  return { ...borrower, references: owner.references, containers: owner.containers };
}
