import { describe, expect, test } from 'vitest';
import { problems, settings, warnings } from '../../test/support/settings.ts';
import type { Environment } from './options/option-table.ts';
import type { Settings } from './settings.ts';

describe('scope', () => {
  const one = { KUBERNETES_NAMESPACE: 'one' };
  test.each<[readonly string[], Environment, Settings['scope']]>([
    [['--namespaces=a,b,a', '--namespaces', 'b, c'], one, { mode: 'namespaces', namespaces: ['a', 'b', 'c'] }],
    [['--namespaces=a,,'], {}, { mode: 'namespaces', namespaces: ['a'] }],
    [['--namespaces='], one, { mode: 'namespaces', namespaces: ['one'] }],
    [[], one, { mode: 'namespaces', namespaces: ['one'] }],
    [[], { KUBERNETES_NAMESPACE: '' }, { mode: 'global', ignore: [], selector: undefined }],
    [['--namespaces-to-ignore=a,b'], {}, { mode: 'global', ignore: ['a', 'b'], selector: undefined }],
  ])('%j with %j', (argv, env, expected) => {
    expect(settings(argv, env).scope).toEqual(expected);
  });

  test('a stray comma does not mean all namespaces', () => {
    expect(problems(['--namespaces=,'])).toEqual(['--namespaces must name a namespace']);
  });

  test('what has no effect besides a list of namespaces is said', () => {
    expect(
      warnings(['--namespaces-to-ignore=a', '--namespace-selector=b'], { ...one, RELOADER_NAMESPACE: 'r' }),
    ).toEqual([
      '--namespaces-to-ignore has no effect, as KUBERNETES_NAMESPACE says which namespaces are watched',
      '--namespace-selector has no effect, as KUBERNETES_NAMESPACE says which namespaces are watched',
    ]);
  });
});
