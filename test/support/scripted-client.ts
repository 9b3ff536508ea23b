import { afterEach } from 'vitest';
import type { Connection } from '../../src/kube/auth/connection.ts';
import { type ClientOptions, KubeClient } from '../../src/kube/client.ts';
import { type ScriptedApi, scriptedApi } from './scripted-api.ts';

const open: { client: KubeClient; api: ScriptedApi }[] = [];
afterEach(async () => {
  for (const { client, api } of open.splice(0)) {
    client.close();
    await api[Symbol.asyncDispose]();
  }
});

/** A client of a server that answers as the script says; both end with the test. */
export async function startClient(
  script: Parameters<typeof scriptedApi>[0],
  options: ClientOptions = {},
  connection: Partial<Connection> = {},
) {
  const api = await scriptedApi(script);
  const client = new KubeClient({ ...api.connection, ...connection }, options);
  open.push({ client, api });
  return { api, client };
}

/** All that an iteration brings. */
export const collect = async <T>(pages: AsyncIterable<T>) => {
  const all: T[] = [];
  for await (const page of pages) all.push(page);
  return all;
};
