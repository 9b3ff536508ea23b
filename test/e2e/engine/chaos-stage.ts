import type { KindName } from '../../../src/api/kinds.ts';
import { isMarkVariable } from '../../../src/domain/template/marks.ts';
import type { Action } from '../../model/history.ts';
import { type Audit, templateIn } from '../../support/audit.ts';
import { type AnyObject, api } from '../../support/sandbox.ts';
import { dataOf, pathOf, type SourceName, sha1, sourceObject, variable, workload } from '../../support/workloads.ts';
import { AUTO } from '../reloader/moves.ts';
import type { Use } from './auditor.ts';

type OnWorkload = Extract<Action, { readonly workload: number }>;

// Those of the first group have pods here. The others have no controller, or none that is worth its time.
const KINDS: readonly KindName[] = [
  'Deployment',
  'StatefulSet',
  'Deployment',
  'CronJob',
  'Rollout',
  'Deployment',
  'DaemonSet',
  'DeploymentConfig',
];
/** What somebody may do to a kind beside editing its template. */
const WHOLE: readonly KindName[] = ['Deployment', 'StatefulSet'];

/** Workloads of all kinds and their sources on the real server, and what others do to them. */
export class ChaosStage {
  readonly uses: Use[] = [];
  readonly #sources: readonly SourceName[];
  readonly #shop: string;
  readonly #values = new Map<string, string>();

  constructor(shop: string, workloads: number) {
    this.#shop = shop;
    // Two that share a variable, and as many more as there are pairs of workloads.
    const more = Array.from({ length: Math.ceil(workloads / 2) }, (_, n) => `source-${n}`);
    this.#sources = ['app.cfg', 'app-cfg', ...more].map((name, n) => ({
      kind: n % 3 === 2 ? 'Secret' : 'ConfigMap',
      name,
    }));
    for (let n = 0; n < workloads; n += 1) {
      const kind = KINDS[n % KINDS.length] as KindName;
      const sources = n % 5 === 0 ? this.#sources.slice(0, 2) : this.#pick(n);
      this.uses.push({ kind, name: `workload-${n}`, sources });
    }
  }

  get sourceCount(): number {
    return this.#sources.length;
  }

  async build(): Promise<void> {
    await Promise.all(
      this.#sources.map(({ kind, name }) =>
        api().create(pathOf(kind, this.#shop), sourceObject(kind, name, { value: 'a' })),
      ),
    );
    await Promise.all(this.uses.map((use) => this.#create(use)));
  }

  /** What it is not a matter of the stage to do is left. */
  async play(action: Action, audit: Audit): Promise<void> {
    if (action.do === 'data' || action.do === 'label') await this.#write(action);
    else if ('workload' in action) await this.#touch(action, audit);
  }

  /** Nobody holds anything back any more. */
  async resume(): Promise<void> {
    for (const { kind, name } of this.uses) {
      if (kind === 'Deployment') await api().patch(pathOf(kind, this.#shop, name), { spec: { paused: false } });
    }
  }

  async #write(action: Extract<Action, { readonly source: number; readonly value: string }>): Promise<void> {
    const source = this.#sources[action.source] as SourceName;
    const path = pathOf(source.kind, this.#shop, source.name);
    if (action.do === 'label') {
      await api().patch(path, { metadata: { labels: { of: action.value } } });
      return;
    }
    this.#values.set(source.name, action.value);
    const { data } = dataOf(source.kind, { value: action.value });
    await api().patch(path, [{ op: 'add', path: '/data', value: data }], 'json');
  }

  async #touch(action: OnWorkload, audit: Audit): Promise<void> {
    const use = this.uses[action.workload] as Use;
    if (action.do === 'image') await this.#edit(use, (template) => setImage(template, action.value));
    else if (!WHOLE.includes(use.kind)) return;
    else if (action.do === 'strip') await this.#edit(use, strip);
    else if (action.do === 'relay') await this.#edit(use, (template) => this.#mark(template, use));
    else if (action.do === 'undo') await this.#undo(use, audit);
    else if (action.do === 'scale') await this.#patch(use, { replicas: action.value });
    else if (action.do === 'pause' && use.kind === 'Deployment') await this.#patch(use, { paused: action.value });
    else if (action.do === 'recreate') {
      await api().delete(pathOf(use.kind, this.#shop, use.name));
      await this.#create(use);
    }
  }

  #patch({ kind, name }: Use, spec: object): Promise<AnyObject> {
    return api().patch(pathOf(kind, this.#shop, name), { spec });
  }

  /** As somebody who sends the whole template does it. */
  async #edit({ kind, name }: Use, edit: (template: AnyObject) => void): Promise<void> {
    const path = pathOf(kind, this.#shop, name);
    for (;;) {
      const object = structuredClone(await api().get(path));
      edit(templateIn(kind, object));
      try {
        await api().replace(path, object);
        return;
      } catch (error) {
        if (!String(error).includes('409')) throw error;
      }
    }
  }

  async #undo(use: Use, audit: Audit): Promise<void> {
    const before = audit.templates(use.kind, use.name).at(-2);
    if (before === undefined) return;
    await this.#edit(use, (template) =>
      Object.assign(template, { spec: undefined, metadata: undefined }, JSON.parse(before)),
    );
  }

  /** The marks of the data that there is. */
  #mark(template: AnyObject, use: Use): void {
    strip(template);
    const [container] = template['spec'].containers;
    const marks = new Map(
      use.sources.map(({ kind, name }) => [variable(kind, name), sha1({ value: this.#values.get(name) ?? 'a' })]),
    );
    container.env = [...container.env, ...[...marks].map(([name, value]) => ({ name, value }))];
  }

  #pick(n: number): readonly SourceName[] {
    const own = this.#sources.slice(2);
    const at = (index: number) => own[index % own.length] as SourceName;
    return n % 4 === 0 ? [at(n), at(n + 1)] : [at(n)];
  }

  async #create({ kind, name, sources }: Use): Promise<void> {
    const envFrom = sources.map((each) =>
      each.kind === 'Secret' ? { secretRef: { name: each.name } } : { configMapRef: { name: each.name } },
    );
    const pod = { containers: [{ name: 'app', image: 'v1', envFrom }] };
    const isPattern = sources[0]?.name === 'app.cfg' && kind !== 'CronJob';
    const annotations = isPattern ? { 'configmap.reloader.stakater.com/reload': 'app.*' } : AUTO;
    const spec = WHOLE.includes(kind) ? { replicas: 2 } : {};
    await api().create(pathOf(kind, this.#shop), workload(kind, name, { annotations, pod, spec }));
  }
}

function setImage(template: AnyObject, image: string): void {
  template['spec'].containers[0].image = image;
}

function strip(template: AnyObject): void {
  const [container] = template['spec'].containers;
  container.env = (container.env ?? []).filter((entry: unknown) => !isMarkVariable(entry));
  Object.assign(template.metadata, { annotations: {} });
}
