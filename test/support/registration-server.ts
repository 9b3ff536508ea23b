import { expect } from 'vitest';
import type { Registration } from '../../src/admission/registration/entries.ts';
import type { Exchange } from './scripted-api.ts';

export const TARGET = { name: 'attune-admission', namespace: 'attune', url: '' };
const SERVICE = { service: { name: 'attune-admission', namespace: 'attune', path: '/mutate', port: 443 } };
const NAMES = ['workloads.admission.attune.dev', 'cronjobs.admission.attune.dev'];
export const base64 = (text: string): string => Buffer.from(text).toString('base64');

type Webhook = NonNullable<Registration['webhooks']>[number];

/** One registration, on a server that knows as much of apply as is needed here. */
export class RegistrationServer {
  webhooks: readonly Webhook[] | undefined;
  writer = 'attune-install';
  /** What came over the wire, in the order in which it came: policies, and whether they were trusted. */
  readonly applied: string[] = [];
  forbidden: readonly string[] = [];
  /** Called after each apply: for somebody who undoes it at once. */
  afterApply: (() => void) | undefined;
  #version = 1;

  answer({ verb, query, body, json, status }: Exchange): void {
    if (this.forbidden.includes(verb)) status(403, 'Forbidden');
    else if (!this.webhooks) status(404, 'NotFound');
    else if (verb === 'get') json(200, this.#object());
    else {
      const sent = JSON.parse(body) as Registration;
      expect([query.get('fieldManager'), query.get('force')]).toEqual(['attune-admission', 'true']);
      if (sent.metadata.resourceVersion !== `${this.#version}`) status(409, 'Conflict');
      else {
        this.#apply(sent.webhooks ?? []);
        json(200, this.#object());
        this.afterApply?.();
      }
    }
  }

  /** Somebody else writes: to every entry the same. */
  set(
    writer: string,
    { caBundle, failurePolicy, ...rest }: { caBundle?: string; failurePolicy?: string; timeoutSeconds?: number },
    names = NAMES,
  ): void {
    this.writer = writer;
    this.#version += 1;
    const clientConfig = { ...SERVICE, ...(caBundle && { caBundle }) };
    this.webhooks = names.map((name) => ({ name, clientConfig, failurePolicy: failurePolicy ?? 'Ignore', ...rest }));
  }

  #apply(sent: readonly Webhook[]): void {
    this.#version += 1;
    const [first] = sent;
    this.applied.push(`${first?.failurePolicy} ${Buffer.from(first?.clientConfig?.caBundle ?? '', 'base64')}`.trim());
    this.webhooks = (this.webhooks ?? []).map((entry) => {
      const given = sent.find(({ name }) => name === entry.name);
      return { ...entry, ...given, clientConfig: { ...entry.clientConfig, ...given?.clientConfig } };
    });
  }

  #object() {
    const managedFields = [
      { manager: 'attune-admission', time: '2030-01-01T00:00:02Z' },
      { manager: 'helm', time: '2029-01-01T00:00:01Z' },
      { manager: this.writer, time: '2030-01-01T00:00:01Z' },
    ];
    const metadata = { name: TARGET.name, uid: 'u', resourceVersion: `${this.#version}`, managedFields };
    return { metadata, webhooks: this.webhooks };
  }

  get state(): string {
    const each = (this.webhooks ?? []).map(
      ({ failurePolicy, clientConfig }) => `${failurePolicy} ${Buffer.from(clientConfig.caBundle ?? '', 'base64')}`,
    );
    return [...new Set(each)].join();
  }
}
