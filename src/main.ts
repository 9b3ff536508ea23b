#!/usr/bin/env node
// Nothing is imported before the version is known: an older Node would fail inside of it, with words that help nobody.
const NODE_NEEDED = 24;

const { node } = process.versions;
if (Number(node.split('.')[0]) < NODE_NEEDED) {
  process.stderr.write(
    `attune needs Node ${NODE_NEEDED} or newer, and this is Node ${node} (${process.execPath}): install a newer one from https://nodejs.org\n`,
  );
  process.exit(1);
}
await import('./cli/start.ts');

export {};
