import { describe, expect, test } from 'vitest';
import { objectIn } from '../../src/api/json.ts';
import { SPEC } from '../../src/api/reloader-config/spec-fields.ts';
import { rowsOf } from '../../src/api/schema/field.ts';
import { checkObject } from '../../src/cli/config/check-object.ts';
import { configExamples } from '../support/config-examples.ts';

/** Whether something stands at a path like `spec.targets[].name`. */
function has(value: unknown, [step = '', ...rest]: readonly string[]): boolean {
  const inner = objectIn(value)[step.replace('[]', '')];
  if (inner === undefined) return false;
  if (rest.length === 0) return true;
  return step.endsWith('[]') ? (inner as readonly unknown[]).some((each) => has(each, rest)) : has(inner, rest);
}

describe('the examples of docs/reloaderconfig.md', () => {
  test.each(configExamples().map((example) => [example.metadata.name, example] as const))(
    '%s is sound',
    (_, example) => {
      expect(checkObject('docs', example)).toMatchObject({ checked: true, problems: [] });
    },
  );

  test('have names of their own', () => {
    const names = configExamples().map(({ metadata }) => metadata.name);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(rowsOf('spec', SPEC).map(({ path }) => path))('show %s', (path) => {
    expect(configExamples().filter((example) => has(example, path.split('.')))).not.toEqual([]);
  });
});
