const TRUE: readonly string[] = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE: readonly string[] = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** Go's strconv.ParseBool: undefined for every other text. */
export function parseBool(text: string): boolean | undefined {
  if (TRUE.includes(text)) return true;
  return FALSE.includes(text) ? false : undefined;
}
