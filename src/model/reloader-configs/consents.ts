import { ALLOW_RELOADS_FROM } from '../../api/annotations.ts';
import { objectIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { NAMESPACE_NAME } from '../../api/resources.ts';
import { elements } from '../../domain/asks/name-pattern.ts';
import { isByName } from '../../domain/reloader-config/config.ts';
import { matches, type Selector } from '../../domain/text/selector.ts';

/** What is read of a Namespace. */
export interface NamespaceFacts {
  readonly labels: Readonly<Record<string, string>>;
  /** As its annotation lists them; `*`: all. */
  readonly allowsFrom: ReadonlySet<string>;
  /** Of the Namespace when it said so. */
  readonly version?: number;
}

export function namespaceFacts({ metadata }: KubeObject): NamespaceFacts {
  const { [ALLOW_RELOADS_FROM]: allowed } = objectIn(metadata.annotations);
  const allowsFrom = new Set(elements(typeof allowed === 'string' ? allowed : ''));
  return { labels: metadata.labels ?? {}, allowsFrom, version: Number(metadata.resourceVersion) };
}

/** All that is read of a namespace, as a text. */
const wordOf = ({ labels, allowsFrom }: NamespaceFacts): string =>
  JSON.stringify([Object.entries(labels).sort(), [...allowsFrom].sort()]);

/** By the namespace that allows it, the namespaces that may. */
export type Allowances = ReadonlyMap<string, ReadonlySet<string>>;

/** Which namespaces let the ReloaderConfigs of which others name what is in them. */
export class Consents {
  readonly #byFlag: Allowances;
  readonly #namespaces = new Map<string, NamespaceFacts>();

  constructor(byFlag: Allowances) {
    this.#byFlag = byFlag;
  }

  seen(namespace: string, facts: NamespaceFacts): void {
    const known = this.#namespaces.get(namespace);
    // What else is written to a namespace says nothing: its word is as old as it was.
    if (!known || wordOf(known) !== wordOf(facts)) this.#namespaces.set(namespace, facts);
  }

  gone(namespace: string): void {
    this.#namespaces.delete(namespace);
  }

  /** Undefined: not known. */
  labelsOf(namespace: string): NamespaceFacts['labels'] | undefined {
    return this.#namespaces.get(namespace)?.labels;
  }

  /** At which version a namespace said what it says; 0: not known. */
  versionOf(namespace: string): number {
    return this.#namespaces.get(namespace)?.version ?? 0;
  }

  /** Nobody needs consent in its own namespace. */
  allows(to: string, from: string): boolean {
    if (to === from) return true;
    return has(this.#byFlag.get(to), from) || has(this.#namespaces.get(to)?.allowsFrom, from);
  }

  /** Whether the sources of a namespace are meant by a config of another, and it allows that. */
  isSource(of: string, from: string, selector: Selector | undefined): boolean {
    return selector !== undefined && this.#isSelected(of, selector) && this.allows(of, from);
  }

  /** Of one that only the flag tells of, no more is known than what it is called. */
  #isSelected(namespace: string, selector: Selector): boolean {
    const labels = this.#namespaces.get(namespace)?.labels;
    if (labels) return matches(selector, labels);
    return this.#byFlag.has(namespace) && isByName(selector) && matches(selector, { [NAMESPACE_NAME]: namespace });
  }

  /** The namespace itself, and those that a selector matches and that allow it. */
  sourceNamespaces(own: string, selector: Selector | undefined): readonly string[] {
    const others = selector ? new Set([...this.#namespaces.keys(), ...this.#byFlag.keys()]) : [];
    return [own, ...[...others].filter((name) => name !== own && this.isSource(name, own, selector)).sort()];
  }
}

const has = (names: ReadonlySet<string> | undefined, name: string): boolean =>
  names !== undefined && (names.has(name) || names.has('*'));
