// Writes what is made from the program: the conditions and the definitions that the chart takes from it; and then deploy, from
// the chart's defaults: node scripts/manifests.mjs. With --check it writes nothing and fails when a file differs from what it
// would write.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { matchCondition } from '../src/admission/registration/match-conditions.ts';
import { kindNamed } from '../src/api/kinds.ts';
import { crd as redisCluster } from '../src/api/redis-cluster/crd.ts';
import { crd as reloaderConfig } from '../src/api/reloader-config/crd.ts';
import { environment } from '../src/config/load.ts';
import { findBinaries } from '../src/sandbox/binaries/binaries.ts';

const CONDITIONS = 'charts/attune/files/match-conditions.json';
// In files of their own: whoever deletes what attune.yaml made keeps all objects of these kinds. Helm installs whatever is in
// crds, so that what is only for some is among the chart's files.
const DEFINITIONS = [
  { from: 'reloader-config', definition: reloaderConfig(), file: 'charts/attune/crds/reloaderconfigs.yaml' },
  { from: 'reloader-config', definition: reloaderConfig(), file: 'deploy/reloaderconfigs-crd.yaml' },
  { from: 'redis-cluster', definition: redisCluster(), file: 'charts/attune/files/redisclusters.yaml' },
  { from: 'redis-cluster', definition: redisCluster(), file: 'deploy/redis/rediscluster-crd.yaml' },
];
const MANIFESTS = 'deploy/attune.yaml';
const HEADER = '# Rendered from charts/attune by scripts/manifests.mjs; change the chart instead.\n';
const NAMESPACE = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'attune', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};
const definitionHeader = (from) =>
  `# Made from src/api/${from} by scripts/manifests.mjs; change the table there instead.\n`;
/** Labels that only Helm uses. */
const HELM_LABELS = ['helm.sh/chart', 'app.kubernetes.io/managed-by'];

function withoutHelm(manifest) {
  for (const label of HELM_LABELS) delete manifest.metadata.labels?.[label];
  return manifest;
}

/** For the two places where a pod template can be: with the marks, the same as SAP, and for SAP's lists alone. */
function conditions() {
  const of = (kind) => {
    const { templatePath } = kindNamed(kind);
    return {
      marks: matchCondition(templatePath, { marks: true, sapCompat: false }).expression,
      marksAsSap: matchCondition(templatePath, { marks: true, sapCompat: true }).expression,
      lists: matchCondition(templatePath, { marks: false, sapCompat: false }).expression,
    };
  };
  return `${JSON.stringify({ workloads: of('Deployment'), cronjobs: of('CronJob') }, null, 2)}\n`;
}

async function render() {
  const say = (line) => process.stderr.write(`${line}\n`);
  const { helm } = await findBinaries(['helm'], { env: environment() }, say);
  const args = ['template', 'attune', 'charts/attune', '--namespace', 'attune', '--no-hooks'];
  const { stdout } = await promisify(execFile)(helm, args);
  const manifests = parseAllDocuments(stdout).map((document) => withoutHelm(document.toJS()));
  return HEADER + [NAMESPACE, ...manifests].map((manifest) => stringify(manifest)).join('---\n');
}

async function keep(file, text) {
  if (!process.argv.includes('--check')) return await writeFile(file, text);
  if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return;
  process.stderr.write(`${file} is out of date. Run: node scripts/manifests.mjs\n`);
  process.exitCode = 1;
}

await keep(CONDITIONS, conditions());
for (const { from, definition, file } of DEFINITIONS) await keep(file, definitionHeader(from) + stringify(definition));
await keep(MANIFESTS, await render());
