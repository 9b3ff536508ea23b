/**
 * Node's HTTP, without `import`: that reads every member of the module, and one of them, WebSocket, loads undici, which
 * takes 10 MB where an empty process takes 43.
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http');
export const https: typeof import('node:https') = process.getBuiltinModule('node:https');
