/**
 * What the parts of @peculiar/x509 ask `Reflect` for when they are loaded. Their classes have no parameters to inject, so
 * that nothing is known about any of them is the right answer.
 */
const nothing = (): undefined => undefined;

if (!('getMetadata' in Reflect)) Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing });
