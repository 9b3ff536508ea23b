import { arch, version as node, platform } from 'node:process';
import { OWN_FLAGS } from '../own-flags.ts';
import { readRequest } from '../request.ts';
import type { Io } from '../terminal/io.ts';
import { VERSION } from '../version.ts';

const USAGE = `attune version [-o json]

Which version of Attune this is, and of the Node that runs it.
`;

/** `attune version`, and `attune --version`. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const { own, help, operands, problems } = readRequest(argv, OWN_FLAGS.version);
  const output = own.get('output');
  const wrong = [...problems, ...operands.map((word) => `"${word}" is one word too many`)];
  if (output !== undefined && output !== 'json') wrong.push(`-o knows json, not ${output}`);
  if (wrong.length > 0) {
    io.stderr(wrong.map((problem) => `attune version: ${problem}\n`).join(''));
    return 2;
  }
  if (help) io.stdout(USAGE);
  else if (output === 'json') io.stdout(`${JSON.stringify({ version: VERSION, node, platform, arch })}\n`);
  else io.stdout(`attune ${VERSION} (Node ${node}, ${platform} ${arch})\n`);
  return 0;
}
