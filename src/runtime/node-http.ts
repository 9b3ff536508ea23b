/**
 * Node's HTTP, by the way that reads only what is used.
 *
 * An `import` of node:http asks for every member of the module, and one of them, WebSocket, loads undici: 10 MB of a
 * memory that has 43 when it is empty.
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http');
export const https: typeof import('node:https') = process.getBuiltinModule('node:https');
