import { expect, test } from 'vitest';
import { Listed } from './listed.ts';

test('a kind has been heard of as far as wherever it is followed', () => {
  const listed = new Listed();
  listed.told('ConfigMap', { namespace: 'shop' }, 20);
  listed.told('ConfigMap', { namespace: 'bank' }, 30);
  listed.told('Secret', {}, 40);
  listed.toldOfWorkloads('Deployment', { namespace: 'shop' }, 35);
  listed.toldOfWorkloads('Deployment', { namespace: 'bank' }, 25);
  expect([listed.seen(), listed.seenWorkloads()]).toEqual([{ ConfigMap: 20, Secret: 40 }, { Deployment: 25 }]);
});
