import type { Resource } from '../api/resources.ts';

/** `/apis/apps/v1/namespaces/shop/deployments/web/status`, with only the parts that are given. */
export function resourcePath(
  resource: Resource,
  namespace: string | undefined,
  name?: string,
  subresource?: string,
): string {
  let path = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  if (resource.namespaced && namespace !== undefined && namespace !== '') {
    path += `/namespaces/${encodeURIComponent(namespace)}`;
  }
  path += `/${resource.plural}`;
  if (name !== undefined) path += `/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** A query string with its question mark, or nothing; undefined and false leave a parameter out. */
export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  let text = '';
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === false || value === '') continue;
    text += `${text === '' ? '?' : '&'}${name}=${encodeURIComponent(value)}`;
  }
  return text;
}
