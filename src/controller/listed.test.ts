import { expect, test } from 'vitest';
import { Listed } from './listed.ts';

test('a kind of source has been heard of as far as it and every kind of workload has, wherever they are followed', () => {
  const listed = new Listed();
  listed.told('ConfigMap', { namespace: 'shop' }, 20);
  listed.told('ConfigMap', { namespace: 'bank' }, 30);
  listed.told('Secret', {}, 40);
  expect(listed.seen()).toEqual({ ConfigMap: 20, Secret: 40 });
  listed.toldOfWorkloads('Deployment', { namespace: 'shop' }, 35);
  listed.toldOfWorkloads('StatefulSet', { namespace: 'shop' }, 25);
  expect(listed.seen()).toEqual({ ConfigMap: 20, Secret: 25 });
  listed.toldOfWorkloads('StatefulSet', { namespace: 'shop' }, 50);
  expect(listed.seen()).toEqual({ ConfigMap: 20, Secret: 35 });
});
