/**
 * Stakater's own spellings in a label selector, turned into Kubernetes': `key:value` is `key=value`, `key:*` and `key=*`
 * are `key`. Upstream looks at each element of the list as a whole, so that `a:b,c:d` in one quoted element loses its
 * end; that holds under compat only. Undefined: everything is selected.
 */
export function toLabelSelector(elements: readonly string[], compat: boolean): string | undefined {
  const requirements = compat ? elements : elements.flatMap(requirementsOf);
  return requirements.map(toRequirement).join(',') || undefined;
}

/** The commas inside `in (a,b)` separate values, not requirements. */
const requirementsOf = (element: string): readonly string[] => element.split(/,(?![^(]*\))/);

function toRequirement(element: string): string {
  const [key = '', equalTo] = element.split('=');
  if (equalTo === '*') return key;
  const [name = '', value] = element.split(':');
  if (value === undefined) return element;
  return value === '*' ? name : `${name}=${value}`;
}
