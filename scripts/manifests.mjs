// Renders deploy/attune.yaml from the chart's defaults: node scripts/manifests.mjs. With --check it writes nothing and fails
// when the file differs from what it would write.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { environment } from '../src/config/load.ts';
import { findBinaries } from '../src/sandbox/binaries/binaries.ts';

const FILE = 'deploy/attune.yaml';
const HEADER = '# Rendered from charts/attune by scripts/manifests.mjs; change the chart instead.\n';
const NAMESPACE = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'attune', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};
/** Labels that only Helm uses. */
const HELM_LABELS = ['helm.sh/chart', 'app.kubernetes.io/managed-by'];

function withoutHelm(manifest) {
  for (const label of HELM_LABELS) delete manifest.metadata.labels?.[label];
  return manifest;
}

async function render() {
  const say = (line) => process.stderr.write(`${line}\n`);
  const { helm } = await findBinaries(['helm'], { env: environment() }, say);
  const args = ['template', 'attune', 'charts/attune', '--namespace', 'attune', '--no-hooks'];
  const { stdout } = await promisify(execFile)(helm, args);
  const manifests = parseAllDocuments(stdout).map((document) => withoutHelm(document.toJS()));
  return HEADER + [NAMESPACE, ...manifests].map((manifest) => stringify(manifest)).join('---\n');
}

const rendered = await render();
if (!process.argv.includes('--check')) await writeFile(FILE, rendered);
else if ((await readFile(FILE, 'utf8')) !== rendered) {
  process.stderr.write(`${FILE} differs from the chart. Run: node scripts/manifests.mjs\n`);
  process.exitCode = 1;
}
