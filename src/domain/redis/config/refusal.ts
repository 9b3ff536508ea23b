/** Why CONFIG SET refuses: the value is bad, or only a start can set it (or the name is wrong; a start tells). */
export const isForStart = (words: string): boolean =>
  /can't set (?:immutable|protected) config|^(?:ERR )?unknown (?:option|command)/i.test(words);

/** Redis's words without what it says before every refusal. */
export const reasonOf = (words: string): string =>
  shortened(
    words.replace(/^ERR /, '').replace(/^CONFIG SET failed(?: \(possibly related to argument '[^']*'\))? - /, ''),
  );

/** A value that no other state of the machine would make right. */
export const isLasting = (words: string): boolean => /^(?:argument|invalid|wrong number)/i.test(reasonOf(words));

/** Why a throw-away server did not start. A line of the start file is left out: it has the value, which may be a secret. */
export function startReasonOf(words: string, name: string): string {
  const lines = words.split('\n').filter((line) => !/^\s*(?:\*\*\*|>>>|Reading the configuration file|$)/.test(line));
  const reason = lines.join(' ').trim();
  return shortened(reason.startsWith(`${name}: `) ? reason.slice(name.length + 2) : reason);
}

/** Status and Events are small. */
export const shortened = (text: string, most = 300): string => {
  const line = text.replace(/\p{Cc}+/gu, ' ');
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
};
