import { describe, expect, test } from 'vitest';
import { ALICE, BOB, podWith, setAcl } from '../../../../../../test/support/acl-pods.ts';
import { sha256 } from '../passwords/known-passwords.ts';

describe('A3 the default user of a text', () => {
  const hash = `#${sha256('p1')}`;

  test.each([
    ['without a line', ALICE, `user default on ${hash} ~* &* +@all`],
    ['with rules', 'user default on >x ~a* &* -@all +ping +psync +replconf', /^user default on #.* #.* ~a\* .*-@all/],
    ['with nopass', 'user default on nopass ~* &* +@all', `user default on ${hash} ~* &* +@all`],
  ])('%s has the passwords of its Secret', async (_, text, line) => {
    const pod = await podWith(BOB);
    setAcl(pod, text);
    expect(await pod.pass()).toMatchObject({ acl: { state: 'Applied' } });
    expect(await pod.user('default')).toMatch(line);
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
    await pod.restart();
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
    await pod.pass();
    setAcl(pod, BOB);
    await pod.pass();
    expect(await pod.user('default')).toBe(`user default on ${hash} ~* &* +@all`);
  });

  test('its passwords of the text count beside, and go with it; a rotation leaves them alone', async () => {
    const pod = await podWith('user default on >x ~* &* +@all');
    expect([await pod.opens('x'), await pod.opens('p1')]).toEqual([true, true]);
    pod.files.set('redis-auth/password', 'p2');
    await pod.pass();
    pod.clock.advance(60_000);
    await pod.pass();
    expect([await pod.opens('x'), await pod.opens('p1'), await pod.opens('p2')]).toEqual([true, false, true]);
    setAcl(pod, 'user default on >y ~* &* +@all');
    await pod.pass();
    expect([await pod.opens('x'), await pod.opens('y'), await pod.opens('p2')]).toEqual([false, true, true]);
  });

  test('a text that no longer names it opens nothing, where there is no other password', async () => {
    const pod = await podWith('user default on >x ~* &* +@all', { cluster: { authSecret: undefined } });
    expect([await pod.opens('x'), await pod.opens('wrong')]).toEqual([true, false]);
    setAcl(pod, ALICE);
    await pod.pass();
    expect([await pod.opens('x'), await pod.opens('wrong')]).toEqual([true, false]);
    setAcl(pod, BOB);
    await pod.restart();
    expect([await pod.opens('x'), await pod.opens('wrong')]).toEqual([true, false]);
  });
});
