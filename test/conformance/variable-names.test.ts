import { expect, test } from 'vitest';
import type { SourceKind } from '../../src/api/sources.ts';
import { variableName } from '../../src/domain/template/marks.ts';

const NAMES: readonly (readonly [SourceKind, string, string])[] = [
  ['ConfigMap', 'foo', 'STAKATER_FOO_CONFIGMAP'],
  ['Secret', 'db-credentials', 'STAKATER_DB_CREDENTIALS_SECRET'],
  ['ConfigMap', 'my-config', 'STAKATER_MY_CONFIG_CONFIGMAP'],
  ['ConfigMap', 'www.stakater.com', 'STAKATER_WWW_STAKATER_COM_CONFIGMAP'],
  ['ConfigMap', '1foo', 'STAKATER_1FOO_CONFIGMAP'],
  ['ConfigMap', 'my.app-1.2', 'STAKATER_MY_APP_1_2_CONFIGMAP'],
  ['ConfigMap', 'a-b', 'STAKATER_A_B_CONFIGMAP'],
  ['ConfigMap', 'a.b', 'STAKATER_A_B_CONFIGMAP'],
  ['ConfigMap', 'a--b', 'STAKATER_A_B_CONFIGMAP'],
  ['SecretProviderClass', 'vault-db', 'STAKATER_VAULT_DB_SECRETPROVIDERCLASS'],
  ['ConfigMap', 'x-', 'STAKATER_X__CONFIGMAP'],
  ['ConfigMap', '-x', 'STAKATER_X_CONFIGMAP'],
  ['ConfigMap', '\u00e9-conf', 'STAKATER_CONF_CONFIGMAP'],
  ['ConfigMap', 'stra\u00dfe', 'STAKATER_STRA_E_CONFIGMAP'],
  ['ConfigMap', '\u0131abc', 'STAKATER_IABC_CONFIGMAP'],
];

test.each(NAMES)('%s %s is carried by %s', (kind, name, variable) => {
  expect(variableName(kind, name)).toBe(variable);
});
