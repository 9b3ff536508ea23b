import { expect, test } from 'vitest';
import type { SourceRef } from '../../api/sources.ts';
import { refOf, sourceId } from './source-id.ts';

const APP: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'app.v1' };

test.each([
  ['of the own namespace, as 0.1.0 wrote it', 'shop', 'ConfigMap/app.v1'],
  ['of another namespace', 'other', 'ConfigMap/shop/app.v1'],
])('a source %s', (_, namespace, id) => {
  expect(sourceId(APP, namespace)).toBe(id);
  expect(refOf(id as 'ConfigMap/x', namespace)).toEqual(APP);
});
