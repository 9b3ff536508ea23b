import { describe, expect, test } from 'vitest';
import { problems, settings } from '../../test/support/settings.ts';

describe('label selectors', () => {
  const selector = (...argv: string[]): string | undefined => settings(argv).resourceLabelSelector;
  const quoted = (element: string): string => `--resource-label-selector="${element}"`;

  test.each([
    ['k', 'k'],
    ['!k', '!k'],
    ['k=v', 'k=v'],
    ['k!=v', 'k!=v'],
    ['k:v', 'k=v'],
    ['k:*', 'k'],
    ['k=*', 'k'],
    ['k:v:w', 'k=v'],
    ['k in (a,b)', 'k in (a,b)'],
    ['', undefined],
  ])('%j is %j in both modes, quoted or not', (given, expected) => {
    for (const argv of [[`--resource-label-selector=${given}`], [quoted(given)]]) {
      expect(selector(...argv)).toBe(expected);
      expect(selector('--compat=stakater', ...argv)).toBe(expected);
    }
  });

  test('several elements must all hold', () => {
    expect(selector('--resource-label-selector=a:b,c=*', '--resource-label-selector', 'd notin (e,f)')).toBe(
      'a=b,c,d notin (e,f)',
    );
  });

  test('pairs in one quoted element: all count, but under compat only as upstream reads them', () => {
    expect(selector(quoted('a:b,c:d'))).toBe('a=b,c=d');
    expect(selector(quoted('a=*,k in (x,y),b:*'))).toBe('a,k in (x,y),b');
    expect(selector('--compat=stakater', quoted('a:b,c:d'))).toBe('a=b,c');
    expect(problems(['--compat=stakater', quoted('a:*,b')])).toHaveLength(1);
  });

  test.each(['--namespace-selector', '--resource-label-selector'])('%s that does not parse is a problem', (flag) => {
    const [problem, ...others] = problems([flag, 'k in (a'], { KUBERNETES_NAMESPACE: 'one' });
    expect(problem).toContain(`${flag} must be a label selector, not "k in (a": `);
    expect(others).toEqual([]);
  });
});
