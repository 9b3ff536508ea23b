/** 262144 as `262,144`. Intl would load 4 MB of ICU for it. */
export const thousands = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
