import { holdYoungGeneration } from './young-generation.ts';

/** Each with what a user may have said about the same thing. */
const SETTINGS = [
  // The optimising compilers cost 10 to 25 MB here and save no time: what takes time is the network, JSON and hashing,
  // and none of these is JavaScript.
  { flag: '--no-opt', topic: /^--(no-?)?(opt|turbofan)$/ },
  { flag: '--no-maglev', topic: /^--(no-?)?maglev$/ },
];

/**
 * Makes V8 use less memory. Set by the program itself, so that it holds however it is started; what the user has set for
 * the same topics, in NODE_OPTIONS or on the command line, wins.
 */
export function setV8Flags(nodeOptions = ''): void {
  const said = [...process.execArgv, ...nodeOptions.split(/\s+/)].map((option) => option.replaceAll('_', '-'));
  const isSaid = (topic: RegExp): boolean => said.some((option) => topic.test(option));
  const v8 = process.getBuiltinModule('node:v8');
  for (const { flag, topic } of SETTINGS) if (!isSaid(topic)) v8.setFlagsFromString(flag);
  if (!isSaid(/semi-space/)) holdYoungGeneration();
}
