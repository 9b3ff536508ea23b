import { ENTRY_SUFFIX } from '../../admission/registration/manifest.ts';
import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { parseSelector, type Selector } from '../../domain/text/selector.ts';

/** A Deployment that runs SAP pod-reloader. */
export interface SapProgram {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly replicas: number;
}

/** How SAP pod-reloader is registered with the API server. */
export interface SapRegistration {
  readonly name: string;
  readonly failurePolicy: string;
  /** As `kubectl get -l` takes it; '' selects everything. */
  readonly objectSelector: string;
  readonly namespaceSelector: string;
  /** CEL, which only the API server can evaluate. */
  readonly hasConditions: boolean;
}

const IMAGE = /(?:^|\/)pod-reloader(?:[@:]|$)/;
/** The name of the entry in SAP's registration. */
const SAP_WEBHOOK = 'mutate.apps.k8s.io';

export function sapPrograms(deployments: readonly KubeObject[]): readonly SapProgram[] {
  return deployments.flatMap((object) => {
    const { name, namespace = '' } = object.metadata;
    const { replicas = 1 } = objectAt(object, ['spec']);
    return listIn(objectAt(object, ['spec', 'template', 'spec'])['containers'])
      .map((container) => textIn(objectIn(container)['image']))
      .filter((image) => IMAGE.test(image))
      .map((image) => ({ namespace, name, image, replicas: Number(replicas) }));
  });
}

export function sapRegistrations(configurations: readonly KubeObject[]): readonly SapRegistration[] {
  return configurations.flatMap((object) =>
    webhooksOf(object)
      .filter(({ name }) => name === SAP_WEBHOOK)
      .map(({ failurePolicy, objectSelector, namespaceSelector, matchConditions }) => ({
        name: object.metadata.name,
        failurePolicy: textIn(failurePolicy),
        objectSelector: selectorText(objectSelector),
        namespaceSelector: selectorText(namespaceSelector),
        hasConditions: listIn(matchConditions).length > 0,
      })),
  );
}

/** The registrations that are Attune's. */
export const ownRegistrations = (configurations: readonly KubeObject[]): readonly string[] =>
  configurations
    .filter((object) => webhooksOf(object).some(({ name }) => textIn(name).endsWith(ENTRY_SUFFIX)))
    .map(({ metadata }) => `MutatingWebhookConfiguration ${metadata.name}`);

const webhooksOf = (configuration: KubeObject) => listIn(objectIn(configuration)['webhooks']).map(objectIn);

/** A LabelSelector in the form that people write. */
function selectorText(selector: unknown): string {
  const { matchLabels, matchExpressions } = objectIn(selector);
  const labels = Object.entries(objectIn(matchLabels)).map(([key, value]) => `${key}=${textIn(value)}`);
  const expressions = listIn(matchExpressions).map((each) => {
    const { key, operator, values } = objectIn(each);
    const form = FORMS[textIn(operator)];
    return form ? form(textIn(key), listIn(values).map(textIn).join(',')) : `${key} ${operator}`;
  });
  return [...labels, ...expressions].join(',');
}

const FORMS: Readonly<Record<string, (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** Undefined: it is not understood, and what it selects is not known. */
export function selectorOf(text: string): Selector | undefined {
  const parsed = parseSelector(text);
  return 'error' in parsed ? undefined : parsed.selector;
}
