// Writes what is made from the program: the conditions and the definition of ReloaderConfig that the chart takes from it; and
// then deploy, from the chart's defaults: node scripts/manifests.mjs. With --check it writes nothing and fails when a file
// differs from what it would write.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { matchCondition } from '../src/admission/registration/match-conditions.ts';
import { kindNamed } from '../src/api/kinds.ts';
import { crd } from '../src/api/reloader-config/crd.ts';
import { environment } from '../src/config/load.ts';
import { findBinaries } from '../src/sandbox/binaries/binaries.ts';

const CONDITIONS = 'charts/attune/files/match-conditions.json';
// In a file of its own: whoever deletes what attune.yaml made keeps all ReloaderConfigs.
const DEFINITIONS = ['charts/attune/crds/reloaderconfigs.yaml', 'deploy/reloaderconfigs-crd.yaml'];
const MANIFESTS = 'deploy/attune.yaml';
const HEADER = '# Rendered from charts/attune by scripts/manifests.mjs; change the chart instead.\n';
const NAMESPACE = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'attune', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};
const DEFINITION_HEADER =
  '# Made from src/api/reloader-config by scripts/manifests.mjs; change the table there instead.\n';
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
  if ((await readFile(file, 'utf8')) === text) return;
  process.stderr.write(`${file} is out of date. Run: node scripts/manifests.mjs\n`);
  process.exitCode = 1;
}

await keep(CONDITIONS, conditions());
for (const file of DEFINITIONS) await keep(file, DEFINITION_HEADER + stringify(crd()));
await keep(MANIFESTS, await render());
