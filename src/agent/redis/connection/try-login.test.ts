import { expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { loopbackAddress, startRedis } from '../../../../test/support/redis-process.ts';
import { tryLogin } from './try-login.ts';

it('tells whether a password opens another node, or that nobody can tell', async () => {
  const host = loopbackAddress();
  await using redis = await startRedis({ host, directives: [['requirepass', 'right']] });
  const target = { host, port: 6379 };
  const login = (password: string | undefined) => tryLogin(target, { user: 'default', password });
  expect(await login('right')).toBe('accepted');
  expect(await login('wrong')).toBe('refused');
  expect(await login('')).toBe('refused');
  expect(await login(undefined)).toBe('refused');
  // Nothing of it stays behind: not one client beside the one who asks.
  await eventually(() => redis.send('CLIENT', 'LIST', 'TYPE', 'normal')).toMatch(/^[^\n]*\n$/);

  await redis.send('CONFIG', 'SET', 'maxclients', '1');
  await expect(login('right')).rejects.toThrow('ERR max number of clients reached');
  await redis.stop();
  await expect(login('right')).rejects.toThrow(`Redis at ${host}:6379 is not there: nobody listens`);
});
