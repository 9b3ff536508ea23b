import { SAP_LISTS } from '../../src/api/annotations.ts';
import { configHashText, listedSources } from '../../src/domain/config-hash/config-hash.ts';
import { sha256Hex } from '../../src/runtime/digest.ts';

const APP = '3f2b6a5e-8c1d-4b1f-9a55-0d6f2a9c1e10.48213';
const DB = '9b7c1d2e-4f5a-4c3b-8d21-77aa10fe4402.77';
const TLS = 'c0ffee00-1234-4abc-9def-000000000001.1002';
export const SHOP = { 'ConfigMap app-config': APP, 'Secret db': DB, 'Secret tls': TLS };

export interface Vector {
  readonly id: string;
  readonly namespace?: string;
  readonly configmaps?: string;
  readonly secrets?: string;
  readonly state: Readonly<Record<string, string | undefined>>;
  readonly digest: string;
}

/** Digests of SAP pod-reloader, by uid and resource version. */
export const VECTORS: readonly Vector[] = [
  {
    id: 'V1',
    namespace: 'test',
    configmaps: 'test1',
    state: { 'ConfigMap test1': 'ConfigMap/test/test1.1' },
    digest: 'efec662502e54e0608b8416d527adc60299ebc1e67b528d2b835735ddba509cc',
  },
  {
    id: 'V2',
    namespace: 'test',
    secrets: 'test2',
    state: { 'Secret test2': 'Secret/test/test2.1' },
    digest: 'a324647825255bf77512e38391358b3b1a38405c8f5e0d30e75693524a37a587',
  },
  {
    id: 'V3',
    namespace: 'test',
    configmaps: 'test3,test4',
    secrets: 'test5,test6',
    state: { 'ConfigMap test3': 'ConfigMap/test/test3.1', 'Secret test6': 'Secret/test/test6.1' },
    digest: '2b5b0e3ced239db9b0121559f6eed4d2e62b699afb9a71ba7adb9fea8355f751',
  },
  {
    id: 'V4',
    configmaps: 'app-config',
    secrets: 'db,tls',
    state: SHOP,
    digest: 'dadf3bb58622f672d26c8e4d4aaf1f5fe9c9c37b79a17667effe44e9d4f3d067',
  },
  {
    id: 'V5: another version',
    configmaps: 'app-config',
    secrets: 'db,tls',
    state: { ...SHOP, 'ConfigMap app-config': APP.replace('48213', '48399') },
    digest: '5293c02434a011ed86be35bbe1d3f76c432870b4b625998563e27420517ceeab',
  },
  {
    id: 'V6: another order',
    configmaps: 'app-config',
    secrets: 'tls,db',
    state: SHOP,
    digest: '5598ca6ad238c9a0126203d04a795faf088dd8c40806996ce4dc3cd2ccec88d4',
  },
  {
    id: 'V7: a blank is part of the name',
    configmaps: 'app-config',
    secrets: 'db, tls',
    state: SHOP,
    digest: 'a1cd9a83b006374eed13d1935773631ab98b1c8f52420d7fc3ee1c5465073f0f',
  },
  {
    id: 'V8: an empty name',
    configmaps: 'app-config,',
    state: SHOP,
    digest: '6d191ff758ecbf18ed47bf276c1b86f5006ca65e83fb349bfe6f53d101525528',
  },
  {
    id: 'V9',
    configmaps: 'app-config',
    secrets: '',
    state: SHOP,
    digest: '6d2f92a05944ff1808dfff671e607fd8d8fac8cbfdbd23fc80c268b40a3e33ab',
  },
  {
    id: 'V10: twice',
    configmaps: 'app-config,app-config',
    state: SHOP,
    digest: '42b972ccd0b1bb0c4298c125f67d11c42dfb864e139a64604ae8694d2fac84f4',
  },
  {
    id: 'V11: deleted',
    configmaps: 'app-config',
    secrets: 'db,tls',
    state: { ...SHOP, 'ConfigMap app-config': undefined },
    digest: '8d6272388244f26bb7429c958da2a8358a4ba22dbff56fd21e9a1f7ccf78abba',
  },
  {
    id: 'V12: created anew',
    configmaps: 'app-config',
    secrets: 'db,tls',
    state: { ...SHOP, 'ConfigMap app-config': 'c0ffee00-1234-4abc-9def-000000000001.50001' },
    digest: '855ff641beb7245d8e78705deb3328d86f441ba8bf1989b039d50c15be04c093',
  },
  {
    id: 'V13: missing',
    configmaps: 'nope',
    state: SHOP,
    digest: 'f1172e3ebed7e5fd3c95a8764cddfe3ba2515a8f4d6e708643b4976d81f7b587',
  },
];

/** The annotations of a workload that lists these. */
export const listing = ({ configmaps, secrets }: Pick<Vector, 'configmaps' | 'secrets'>) => ({
  ...(configmaps !== undefined && { [SAP_LISTS.ConfigMap]: configmaps }),
  ...(secrets !== undefined && { [SAP_LISTS.Secret]: secrets }),
});

export function digestOf(given: Omit<Vector, 'digest' | 'id'>, compat: boolean): string | undefined {
  const { namespace = 'shop', state } = given;
  const listed = listedSources(listing(given), compat);
  return listed && sha256Hex(configHashText(listed, namespace, ({ kind, name }) => state[`${kind} ${name}`]));
}
