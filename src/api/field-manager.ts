/** Upstream's, in whose name we write: who owned a mark before owns it afterwards. */
export const FIELD_MANAGER = 'Reloader';
