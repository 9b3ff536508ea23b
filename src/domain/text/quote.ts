/** A value as shown to people, cut short: an annotation can be a quarter of a megabyte. */
export const quote = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
