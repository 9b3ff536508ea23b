import { expect, test } from 'vitest';
import { Audit } from '../../support/audit.ts';
import { startController } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { api, ownControlPlane } from '../../support/sandbox.ts';
import { pathOf, podUsing, sourceObject, workload } from '../../support/workloads.ts';
import { AUTO, untilMarked } from './moves.ts';
import { DEFAULT } from './scene.ts';

// Of its own: kinds that others installed would be there from the start.
const { plane } = await ownControlPlane();

test('kinds that appear after the start are picked up without another one', async () => {
  const admin = api(plane);
  for (const name of ['home', 'space']) await admin.create('/api/v1/namespaces', { metadata: { name } });
  const configMaps = pathOf('ConfigMap', 'space');
  await admin.create(configMaps, sourceObject('ConfigMap', 'app', { value: '1' }));
  const flags = [DEFAULT, '--namespaces=space', '--is-Argo-Rollouts=true', '--enable-csi-integration'];
  await using attune = await startController({ flags, home: 'home', access: plane });
  await installKinds(['Rollout', 'DeploymentConfig'], plane);
  const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
  for (const kind of ['Rollout', 'DeploymentConfig'] as const) {
    await admin.create(pathOf(kind, 'space'), workload(kind, 'web', { annotations: AUTO, pod }));
  }
  await using audit = await Audit.of('space', ['Rollout', 'DeploymentConfig'], plane);
  // How soon it looks is its own affair: a change after that rolls.
  const followed = async (kind: 'Rollout' | 'DeploymentConfig', round: number): Promise<void> => {
    const data = { value: `${kind} ${round}` };
    await admin.patch(`${configMaps}/app`, { data });
    try {
      await audit.until('a rollout', () => JSON.stringify(audit.latest(kind, 'web') ?? {}).includes('STAKATER_'), 5000);
    } catch (error) {
      if (round > 8) throw error;
      await followed(kind, round + 1);
    }
  };
  await followed('Rollout', 1);
  await followed('DeploymentConfig', 1);
  const last = { value: 'last' };
  await admin.patch(`${configMaps}/app`, { data: last });
  await untilMarked(audit, 'Rollout', 'web', last);
  await untilMarked(audit, 'DeploymentConfig', 'web', last);
  expect(attune.lines.filter((line) => line.includes('level=error'))).toEqual([]);
});
