import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { HASH_A } from '../../../test/conformance/given.ts';
import { CONFIG_HASH, LAST_RELOADED_FROM, NUDGE } from '../../api/annotations.ts';
import type { JsonObject } from '../../api/json.ts';
import { digestTemplate } from './template-digest.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 20);
const env = [{ name: 'STAKATER_APP_CONFIGMAP', value: HASH_A }];
const marked = { containers: [{ name: 'app', image: 'v1', env }] };
const plain = { containers: [{ name: 'app', image: 'v1' }] };
const template = (annotations: JsonObject, spec: object = plain) => ({ metadata: { annotations }, spec });

/** As earlier versions have written them into records and checkpoints. */
test.each([
  [{ spec: plain }, 'a689f941a58b21c12a00', 'a689f941a58b21c12a00'],
  [
    template({ [LAST_RELOADED_FROM]: '{}', 'example.com/a': 'b' }, marked),
    '7006856dc957ff11fb79',
    'cb20b7e9fd97c87923ab',
  ],
  [template({ [NUDGE]: 'n' }, marked), 'a689f941a58b21c12a00', 'a9c825bc75986c4ee9ce'],
])('without a config hash the digests stay what they were: %j', (given, templateDigest, fullTemplateDigest) => {
  expect(digestTemplate(given, digest)).toEqual({ templateDigest, fullTemplateDigest });
});

test('a config hash is a mark: no part of the template, and part of the whole', () => {
  const without = digestTemplate({ spec: plain }, digest);
  const one = digestTemplate(template({ [CONFIG_HASH]: 'one' }), digest);
  const other = digestTemplate(template({ [CONFIG_HASH]: 'other' }), digest);
  expect([one.templateDigest, other.templateDigest]).toEqual([without.templateDigest, without.templateDigest]);
  expect(new Set([without, one, other].map(({ fullTemplateDigest }) => fullTemplateDigest)).size).toBe(3);
  const nudged = digestTemplate(template({ [NUDGE]: 'one' }), digest);
  expect(one.fullTemplateDigest).not.toBe(nudged.fullTemplateDigest);
});
