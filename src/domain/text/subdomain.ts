const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** What may be the name of an object of most kinds, and stand before the slash of a label or annotation. */
export const isSubdomain = (text: string): boolean => text.length <= 253 && SUBDOMAIN.test(text);
