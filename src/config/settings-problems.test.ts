import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problems, settings, warnings } from '../../test/support/settings.ts';
import { CONTROLLER_OPTIONS } from './options/controller.ts';
import { type Environment, rowsOf } from './options/option-table.ts';
import { parseSettings } from './parse-settings.ts';

describe('problems', () => {
  test.each<[readonly string[], string]>([
    [['--reload-strategy=env'], '--reload-strategy must be one of env-vars, annotations, not "env"'],
    [['--reload-strategy='], '--reload-strategy must be one of env-vars, annotations, not ""'],
    [['--compat=reloader'], '--compat must be a list of stakater, sap, not "reloader"'],
    [['--compat=sap,Stakater'], '--compat must be a list of stakater, sap, not "Stakater"'],
    [['--admission-listen=9443'], '--admission-listen must be host:port or :port, like :9443, not "9443"'],
    [['--admission-listen=:99999'], '--admission-listen must be host:port or :port, like :9443, not ":99999"'],
    [['--admission-url=http://a'], '--admission-url must be an https URL without user, query or fragment'],
    [['--admission-url=https://u:p@a'], '--admission-url must be an https URL without user, query or fragment'],
    [['--admission-failure-policy=fail'], '--admission-failure-policy must be one of Ignore, Fail, not "fail"'],
    [['--admission-cert-life=59s'], '--admission-cert-life must be 60s or more'],
    [['--auto-reload-all=yes'], '--auto-reload-all must be true or false, not "yes"'],
    [['--quiet-period=5'], '--quiet-period must be a duration like 1s, 500ms or 1h30m, not "5"'],
    [['--max-wait=-1s'], '--max-wait must be a duration like 1s, 500ms or 1h30m, not "-1s"'],
    [['--concurrency=0'], '--concurrency must be a whole number from 1 to 999999, not "0"'],
    [
      ['--resources-to-ignore=configmaps,secrets'],
      '--resources-to-ignore must be either configmaps or secrets, not "configmaps,secrets"',
    ],
    [
      ['--resources-to-ignore=secrets,secrets'],
      '--resources-to-ignore must be either configmaps or secrets, not "secrets,secrets"',
    ],
    [['--resources-to-ignore=pods'], '--resources-to-ignore must be either configmaps or secrets, not "pods"'],
    [['--namespaces=A_b'], '--namespaces must hold names of namespaces, not "A_b"'],
    [
      ['--namespaces="a'],
      '--namespaces must be a comma-separated list whose double quotes enclose whole elements, not "\\"a"',
    ],
    [['--reload-on-create'], 'flag needs an argument: --reload-on-create'],
    [['--is-argo-rollouts=true'], 'unknown flag: --is-argo-rollouts, did you mean --is-Argo-Rollouts?'],
    [['--auto-reload-all=no', '--auto-reload-all=true'], '--auto-reload-all must be true or false, not "no"'],
  ])('%j', (argv, problem) => {
    expect(problems(argv)).toEqual([problem]);
  });

  test('leader election needs to know its pod', () => {
    const missing = (variable: string): string => `--enable-ha needs the environment variable ${variable}`;
    expect(problems(['--enable-ha'])).toEqual([missing('POD_NAME'), missing('POD_NAMESPACE')]);
    expect(problems(['--enable-ha'], { POD_NAME: 'a', POD_NAMESPACE: '' })).toEqual([missing('POD_NAMESPACE')]);
    expect(settings(['--enable-ha'], { POD_NAME: 'a', POD_NAMESPACE: 'b' })).toMatchObject({
      enableHa: true,
      podName: 'a',
    });
  });

  test('all at once, from both sources', () => {
    expect(problems(['--bogus', '--reload-strategy=x', '--enable-ha'], { ATTUNE_COMPAT: 'y' })).toHaveLength(5);
  });

  test('a credential in a URL is not shown', () => {
    expect(problems(['--webhook-url=ftp://user:hunter2@host'])).toEqual(['--webhook-url must be an http or https URL']);
  });

  test('help comes alone, or together with what is wrong', () => {
    expect(parseSettings(['--help'], {})).toEqual({ ok: false, problems: [], help: true });
    expect(parseSettings(['-h', '--bogus'], {})).toEqual({
      ok: false,
      problems: ['unknown flag: --bogus'],
      help: true,
    });
  });
});

describe('warnings', () => {
  const quiet = { RELOADER_NAMESPACE: 'r', KUBERNETES_NAMESPACE: 'n' };
  test.each<[readonly string[], Environment, string | RegExp]>([
    [['--auto-reload-all', 'false'], quiet, /^arguments without a flag are ignored: "false"/],
    [['--auto-reload-all', 'https://u:TOKEN@hooks'], quiet, /^arguments without a flag are ignored: …;/],
    [['--reload-on-create=True'], quiet, /^--reload-on-create="True" leaves it switched off/],
    [['--enable-pprof'], quiet, /^--enable-pprof is accepted but opens nothing/],
    [['--ignored-workload-types=jobs,pods'], quiet, /not "pods"; no workload type is ignored$/],
    [
      ['--quiet-period=11s'],
      quiet,
      /^--max-wait is shorter than --quiet-period, so --max-wait decides: a reload starts that long after the first change$/,
    ],
    [
      ['--webhook-url=http://h/secret'],
      quiet,
      'webhook-url is set: changes are posted there, and no workload is reloaded',
    ],
    [['--resource-label-selector=a:b'], quiet, /a=b$/],
    [
      ['--namespaces-to-ignore=a,b'],
      { RELOADER_NAMESPACE: 'r' },
      'KUBERNETES_NAMESPACE is unset, will detect changes in all namespaces except: a, b.',
    ],
    [[], { ...quiet, ALERT_ON_RELOAD: 'true' }, /ALERT_WEBHOOK_URL is not/],
    [
      [],
      { ...quiet, ALERT_ON_RELOAD: 'true', ALERT_WEBHOOK_URL: 'http://h', ALERT_WEBHOOK_PROXY: 'p' },
      /^ALERT_WEBHOOK_PROXY is not/,
    ],
    [[], { KUBERNETES_NAMESPACE: 'n' }, /^RELOADER_NAMESPACE is unset/],
  ])('%j with %j', (argv, env, expected) => {
    expect(warnings(argv, env)).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)]);
  });
});

test('whatever is given, there are settings or problems, and nothing throws', () => {
  const flag = fc.constantFrom(...rowsOf(CONTROLLER_OPTIONS).flatMap(([, option]) => option.flag ?? []));
  const word = fc.oneof(
    fc.string(),
    flag.map((name) => `--${name}`),
    fc.tuple(flag, fc.string()).map(([name, value]) => `--${name}=${value}`),
  );
  const variables = rowsOf(CONTROLLER_OPTIONS).flatMap(([, { env }]) => env ?? []);
  const given = fc.dictionary(fc.constantFrom(...variables), fc.string());
  fc.assert(
    fc.property(fc.array(word), given, (argv, environment) => {
      const parsed = parseSettings(argv, environment);
      expect(parsed.ok || parsed.help || parsed.problems.length > 0).toBe(true);
    }),
  );
});
