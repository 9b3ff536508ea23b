import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { diagnose, type SourceList } from './doctor-findings.ts';

const NOW = Date.UTC(2000, 0, 1, 12);
const SOURCES: SourceList = {
  ConfigMap: ['app', 'other'].map((name) => ({ ref: { kind: 'ConfigMap', name }, ignored: false, matchable: true })),
  Secret: ['pull', 'sh.helm.release.v1.app.v1'].map((name) => ({
    ref: { kind: 'Secret', name },
    ignored: false,
    matchable: false,
  })),
  SecretProviderClass: [],
};

function settings(...argv: string[]): Settings {
  const parsed = parseSettings(argv, {});
  if (!parsed.ok) throw new Error(parsed.problems.join());
  return parsed.settings;
}

interface Sketch {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly templateAnnotations?: Readonly<Record<string, string>>;
  readonly env?: readonly object[];
  readonly spec?: object;
  readonly status?: object;
  readonly borrowers?: readonly KubeObject[];
}

/** A workload of one container that takes variables from the ConfigMap `app` and pulls with the Secret `pull`. */
function look(kindName: string, sketch: Sketch, given = settings()) {
  const kind = kindNamed(kindName);
  if (!kind) throw new Error(kindName);
  const template = {
    metadata: { annotations: sketch.templateAnnotations },
    spec: {
      containers: [{ name: 'web', envFrom: [{ configMapRef: { name: 'app' } }], env: sketch.env }],
      imagePullSecrets: [{ name: 'pull' }],
    },
  };
  const inner = kindName === 'CronJob' ? { jobTemplate: { spec: { template } } } : { template };
  const object = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '1', annotations: sketch.annotations ?? {} },
    spec: { ...inner, ...sketch.spec },
    status: sketch.status,
  } as unknown as KubeObject;
  return diagnose(kind, object, SOURCES, { settings: given, nowMs: NOW, borrowers: sketch.borrowers ?? [] });
}

const auto = { 'reloader.stakater.com/auto': 'true' };

describe('what stays', () => {
  it.each(['DaemonSet', 'StatefulSet', 'Deployment'])('%s by name', (kind) => {
    const { differences, sources } = look(kind, { annotations: { 'configmap.reloader.stakater.com/reload': 'app' } });
    expect({ differences, sources }).toEqual({ differences: [], sources: 1 });
  });

  it('who takes no part takes no part', () => {
    expect(look('Deployment', {})).toMatchObject({ sources: 0, differences: [], atOnce: [], remarks: [] });
  });

  it('keys of one’s own', () => {
    const own = settings('--auto-annotation=our/auto', '--ignored-workload-types=jobs');
    expect(look('StatefulSet', { annotations: { 'our/auto': 'true' } }, own).sources).toBe(2);
  });
});

describe('what differs', () => {
  it('pulling with a Secret counts as using it', () => {
    expect(look('Deployment', { annotations: auto }).differences).toEqual([
      {
        source: { kind: 'Secret', name: 'pull' },
        before: 'nothing',
        after: 'patch',
        because: expect.stringContaining('images pulled with it'),
      },
    ]);
  });

  it('auto "false" forbids what is named beside it', () => {
    const annotations = { 'reloader.stakater.com/auto': 'false', 'configmap.reloader.stakater.com/reload': 'other' };
    expect(look('Deployment', { annotations }).differences).toEqual([
      {
        source: { kind: 'ConfigMap', name: 'other' },
        before: 'patch',
        after: 'nothing',
        because: expect.stringContaining('forbids every reload'),
      },
    ]);
  });

  it('a suspended CronJob is not run', () => {
    const { differences } = look('CronJob', { annotations: auto, spec: { suspend: true } });
    expect(differences).toContainEqual({
      source: { kind: 'ConfigMap', name: 'app' },
      before: 'run',
      after: 'nothing',
      because: 'it is suspended',
    });
  });

  it('a finished Job is not run again because of its template', () => {
    const status = { conditions: [{ type: 'Complete', status: 'True' }] };
    const { differences } = look('Job', { templateAnnotations: auto, status });
    expect(differences).toContainEqual(expect.objectContaining({ before: 'replace', after: 'nothing' }));
  });

  it('a DeploymentConfig is reloaded at all', () => {
    const annotations = { 'configmap.reloader.stakater.com/reload': 'app' };
    expect(look('DeploymentConfig', { annotations }).differences).toMatchObject([
      { before: 'nothing', after: 'patch' },
    ]);
  });

  it('a Deployment is rolled for the Rollout that has borrowed its template', () => {
    const rollout = {
      metadata: { name: 'canary', namespace: 'shop', uid: 'r', resourceVersion: '1', annotations: auto },
      spec: { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
    } as unknown as KubeObject;
    const lent = { borrowers: [rollout] };
    expect(look('Deployment', lent).differences).toContainEqual({
      source: { kind: 'ConfigMap', name: 'app' },
      before: 'nothing',
      after: 'patch',
      because: expect.stringMatching(/^Rollout canary, which borrows this template, asks: .*auto: "true" in metadata/),
    });
    expect(look('Deployment', lent, settings('--compat=stakater')).differences).toEqual([]);
  });

  it.each(['', 'stakater'])('the Secrets of Helm’s releases are not watched, with --compat=%s', (compat) => {
    const annotations = { 'secret.reloader.stakater.com/reload': 'sh.helm.*' };
    const differences = (...argv: string[]) =>
      look('Deployment', { annotations }, settings(`--compat=${compat}`, ...argv)).differences;
    expect(differences()).toMatchObject([
      { before: 'patch', after: 'nothing', because: expect.stringContaining('are not watched') },
    ]);
    expect(differences('--watch-helm-secrets=true')).toEqual([]);
  });

  it('a forgotten pause is ended at once', () => {
    const annotations = {
      'deployment.reloader.stakater.com/pause-period': '5m',
      'deployment.reloader.stakater.com/paused-at': '2000-01-01T11:00:00Z',
    };
    const { atOnce } = look('Deployment', { annotations, spec: { paused: true } });
    expect(atOnce).toEqual([expect.stringContaining('it is resumed')]);
    expect(look('Deployment', { annotations: {}, spec: { paused: true } }).atOnce).toEqual([]);
  });
});

describe('under --compat=stakater Attune does as Reloader does', () => {
  const compat = settings('--compat=stakater');

  it.each<[string, Sketch]>([
    ['Deployment', { annotations: auto }],
    ['Deployment', { annotations: { ...auto, 'configmap.reloader.stakater.com/reload': 'other' } }],
    ['CronJob', { annotations: auto, spec: { suspend: true } }],
    ['DeploymentConfig', { annotations: auto }],
    ['Job', { templateAnnotations: auto, status: { conditions: [{ type: 'Complete', status: 'True' }] } }],
    ['Rollout', { annotations: auto, spec: { workloadRef: { kind: 'Deployment', name: 'web' }, template: undefined } }],
  ])('%s %j', (kind, sketch) => {
    expect(look(kind, sketch, compat)).toMatchObject({ differences: [], remarks: [] });
    const { differences, remarks } = look(kind, sketch);
    expect(differences.length + remarks.length).toBeGreaterThan(0);
  });
});

describe('what reloader-operator reads on a workload, and nobody else', () => {
  const restart = { 'reloader.stakater.com/rollout-strategy': 'restart' };
  const ignore = { 'reloader.stakater.com/ignore': 'true' };

  it.each([[], ['--compat=stakater']])('is named as without effect: %j', (...flags) => {
    const { remarks } = look('Deployment', { annotations: { ...auto, ...restart, ...ignore } }, settings(...flags));
    expect(remarks).toEqual([
      expect.stringContaining('reloader.stakater.com/rollout-strategy has no effect on a Deployment'),
      expect.stringContaining('reloader.stakater.com/ignore has no effect on a Deployment'),
    ]);
  });
});

describe('variables that nobody needs any more', () => {
  const mark = (name: string, value = 'a'.repeat(40)) => ({ name, value });
  const GONE = mark('STAKATER_GONE_CONFIGMAP');
  const none = 'no source that it uses or names stands behind STAKATER_GONE_CONFIGMAP: ';

  it('go with the next rollout', () => {
    const env = [mark('STAKATER_APP_CONFIGMAP'), GONE];
    expect(look('Deployment', { annotations: auto, env }).remarks).toEqual([`${none}it goes with the next rollout`]);
  });

  it('stay where there is none', () => {
    expect(look('Deployment', { env: [GONE] }).remarks).toEqual([`${none}it stays, as nothing rolls this workload`]);
  });

  it('stay where the template is not written to', () => {
    const restart = { ...auto, 'reloader.stakater.com/rollout-strategy': 'restart' };
    const stays = [`${none}it stays, as this template is not written to`];
    expect(look('Rollout', { annotations: restart, env: [GONE] }).remarks).toEqual(stays);
    expect(look('CronJob', { annotations: auto, env: [GONE] }).remarks).toEqual(stays);
    expect(
      look('CronJob', { annotations: { ...auto, 'attune.dev/on-change': 'template' }, env: [GONE] }).remarks,
    ).toEqual([`${none}it goes with the next rollout`]);
  });

  it('are none: a source that a pattern names, one’s own variable, and what stays as it was', () => {
    const pattern = { 'configmap.reloader.stakater.com/reload': 'oth.*' };
    const other = mark('STAKATER_OTHER_CONFIGMAP');
    expect(look('Deployment', { annotations: pattern, env: [other] }).remarks).toEqual([]);
    const own = mark('STAKATER_GONE_CONFIGMAP', 'hello');
    expect(look('Deployment', { annotations: auto, env: [own] }).remarks).toEqual([]);
    expect(look('Deployment', { annotations: auto, env: [GONE] }, settings('--compat=stakater')).remarks).toEqual([]);
  });
});
