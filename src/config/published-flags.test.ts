import { describe, expect, it, test } from 'vitest';
import { settings } from '../../test/support/settings.ts';
import { CONTROLLER_OPTIONS } from './options/controller.ts';
import { rowsOf } from './options/option-table.ts';
import { parseSettings } from './parse-settings.ts';

const published = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  settings(argv, env).published;

describe('what is shown gives the same settings again', () => {
  it.each<[readonly string[], Readonly<Record<string, string>>, readonly string[]]>([
    [[], {}, []],
    [['--auto-reload-all'], {}, ['--auto-reload-all=true']],
    [[], { KUBERNETES_NAMESPACE: ' shop ' }, ['--namespaces=shop']],
    [['--namespaces=a', '--namespaces=b,a'], { KUBERNETES_NAMESPACE: 'shop' }, ['--namespaces=a,b']],
    [['--namespaces='], { KUBERNETES_NAMESPACE: 'shop' }, ['--namespaces=shop']],
    [[], { ATTUNE_COMPAT: 'stakater' }, ['--compat=stakater']],
    // In the other mode the default is another one: what was said has to be said again.
    [['--compat=stakater', '--quiet-period=1s'], {}, ['--compat=stakater', '--quiet-period=1s']],
    [['--max-wait=1s', '--max-wait=2s'], {}, ['--max-wait=2s']],
    [
      ['--namespace-selector="tier in (web,api)",team', '--namespace-selector=a=b'],
      {},
      ['--namespace-selector="tier in (web,api)",team', '--namespace-selector=a=b'],
    ],
    [
      ['--ignored-workload-types=jobs', '--ignored-workload-types', 'cronjobs'],
      {},
      ['--ignored-workload-types=jobs', '--ignored-workload-types=cronjobs'],
    ],
  ])('%j %j', (argv, env, shown) => {
    const first = settings(argv, env);
    expect(first.published).toEqual({ shown, withheld: [] });
    expect(settings(shown)).toEqual(first);
  });
});

test('what no flag stands for is not shown, nor how the program reaches the cluster', () => {
  const env = {
    ALERT_SINK: 'slack',
    ALERT_ADDITIONAL_INFO: 'hunter2',
    KUBECONFIG: '/home/me/hunter2',
    HOME: '/home/me',
  };
  expect(published([], env)).toEqual({ shown: [], withheld: [] });
  expect(published(['--kubeconfig=/home/me/config', '--context=me@home'])).toEqual({ shown: [], withheld: [] });
});

describe('what may hold a credential', () => {
  const URL = 'https://user:hunter2@example.com/T0/hunter3';

  it('is withheld in whatever row it stands', () => {
    const accepted = rowsOf(CONTROLLER_OPTIONS).flatMap(([, { flag, env = '', local = false }]) => {
      const parsed = flag === undefined ? parseSettings([], { [env]: URL }) : parseSettings([`--${flag}=${URL}`], {});
      // What is refused is not published either.
      return parsed.ok ? [{ told: local ? undefined : flag, ...parsed.settings.published }] : [];
    });
    expect(accepted.length).toBeGreaterThan(10);
    for (const { told, shown, withheld } of accepted) {
      expect({ shown, withheld }).toEqual({ shown: [], withheld: told === undefined ? [] : [told] });
    }
    expect(JSON.stringify(published(['--log-format=user:hunter2@host', '--log-level=a\nb']).shown)).toBe('[]');
  });

  it('is marked in the table', () => {
    const marked = rowsOf(CONTROLLER_OPTIONS)
      .filter(([, { sensitive }]) => sensitive)
      .map(([name]) => name);
    const telling = rowsOf(CONTROLLER_OPTIONS)
      .filter(
        ([name, { flag = '', env = '', doc }]) =>
          /url|proxy|token|password|credential|webhook|additional/i.test(`${name} ${flag} ${env}`) ||
          /\bURL\b/.test(doc),
      )
      .map(([name]) => name);
    expect(telling.length).toBeGreaterThan(3);
    expect(telling).toEqual(marked);
  });

  it('and nothing that is not set', () => {
    expect(published(['--webhook-url='])).toEqual({ shown: [], withheld: [] });
  });
});
