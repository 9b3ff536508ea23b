import { parseSelector } from '../domain/text/selector.ts';
import { type Diagnostics, quote } from './diagnostics.ts';
import { CONTROLLER_OPTIONS, type ControllerValues } from './options/controller.ts';

/**
 * The label selector that a flag gives; undefined selects everything.
 *
 * Stakater's own spellings become Kubernetes': `key:value` is `key=value`, `key:*` and `key=*` are `key`. Upstream looks
 * at each element of the list as a whole, so that `a:b,c:d` in one quoted element loses its end; under compat only.
 */
export function selectorOf(
  name: 'namespaceSelector' | 'resourceLabelSelector',
  values: ControllerValues,
  diagnostics: Diagnostics,
): string | undefined {
  const elements = values[name];
  const requirements = values.compat.has('stakater') ? elements : elements.flatMap(requirementsOf);
  const selector = requirements.map(toRequirement).join(',');
  const parsed = parseSelector(selector);
  if ('error' in parsed) {
    diagnostics.problems.push(
      `--${CONTROLLER_OPTIONS[name].flag} must be a label selector, not ${quote(selector)}: ${parsed.error}`,
    );
  }
  return selector || undefined;
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
