import { expect, test } from 'vitest';
import { APP, parsed, running, source, web, webObject } from '../../../test/support/engine-world.ts';
import { listOf } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import type { KubeObject } from '../../api/objects.ts';
import { ServerHistory } from './server-history.ts';

type World = ReturnType<typeof running>;

/** Asks a server that remembers this object. */
async function isNewer(then: KubeObject, { sources, state }: World): Promise<boolean> {
  const { client } = await startClient({ list: [(e) => e.json(200, listOf([then], '10'))] });
  const history = new ServerHistory({ client, sources, parse: (_kind, object) => parsed(object) });
  return await history.isNewer(state(), APP);
}

test.each([
  ['the template of before: its pods have the data', { image: 'v1', revision: 1, rolledOut: true }, true],
  ['the template of now: who knows when its pods were made', { image: 'v2', revision: 1, rolledOut: true }, false],
  ['one of which nobody saw the beginning', { image: 'v3', revision: 3, rolledOut: true }, false],
])('when the source was written there was %s', async (_what, look, proven) => {
  const world = running();
  world.put(source('B', 10));
  world.engine.workloadSeen(web(20, { image: 'v2', revision: 4, rolledOut: false }), 'list', 8);
  expect(await isNewer(webObject(9, look), world)).toBe(proven);
});

test('a template that its controller has not counted yet may be the second since we looked', async () => {
  const world = running();
  world.put(source('B', 10));
  world.engine.workloadSeen(web(20, { image: 'v2', revision: 4, rolledOut: false }), 'list', 8);
  const counted = webObject(9, { image: 'v3', revision: 2, rolledOut: true });
  expect(await isNewer(counted, world)).toBe(true);
  const edited = { ...counted, metadata: { ...counted.metadata, generation: 3 } };
  expect(await isNewer(edited, world)).toBe(false);
});
