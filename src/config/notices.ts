import type { CommandLine } from './command-line.ts';
import { quote } from './diagnostics.ts';
import { isHttpUrl } from './options/option.ts';
import type { Settings } from './settings.ts';

/** Warnings about settings that are valid: first likely mistakes, then what narrows or widens what is watched. */
export function noticesAbout(settings: Settings, commandLine: CommandLine): readonly string[] {
  return [...slips(commandLine), ...withoutEffect(settings), ...scopeNotices(settings)];
}

function* slips({ given, positional }: CommandLine): Generator<string> {
  if (positional.length > 0) {
    // Anything but a short word may be a credential whose flag is missing.
    const shown = positional.slice(0, 5).map((word) => (/^[a-z]{1,8}$/i.test(word) ? quote(word) : '…'));
    yield `arguments without a flag are ignored: ${shown.join(' ')}; a boolean is written --flag=false`;
  }
  for (const flag of ['reload-on-create', 'reload-on-delete', 'is-Argo-Rollouts']) {
    const value = given.get(flag)?.at(-1) ?? '';
    if (value !== '' && value !== 'true' && value !== 'false') {
      yield `--${flag}=${quote(value)} leaves it switched off: only the exact word true switches it on`;
    }
  }
}

function* withoutEffect(settings: Settings): Generator<string> {
  const { alerts } = settings;
  if (settings.enablePprof) {
    yield '--enable-pprof is accepted but opens nothing: a profiler on the network shows memory, and so Secrets, to anybody';
  }
  if (settings.maxWaitMs < settings.quietPeriodMs) {
    yield '--max-wait is shorter than --quiet-period, so --max-wait decides: a reload starts that long after the first change';
  }
  // Upstream reports these at the first alert, when nobody reads the log.
  if (alerts.enabled && !isHttpUrl(alerts.url)) {
    yield 'ALERT_ON_RELOAD is true, but ALERT_WEBHOOK_URL is not an http or https URL: no alert can be sent';
  }
  if (alerts.enabled && alerts.proxy !== '' && !isHttpUrl(alerts.proxy)) {
    yield 'ALERT_WEBHOOK_PROXY is not an http or https URL: no alert can be sent';
  }
  if (settings.metaInfoNamespace === '') {
    yield 'RELOADER_NAMESPACE is unset, the ConfigMap reloader-meta-info is not written';
  }
}

function* scopeNotices({ scope, resourceLabelSelector, webhookUrl }: Settings): Generator<string> {
  if (scope.mode === 'global') {
    // Stakater's wording: people search their logs for it.
    const except = scope.ignore.length > 0 ? ` except: ${scope.ignore.join(', ')}` : '';
    yield `KUBERNETES_NAMESPACE is unset, will detect changes in all namespaces${except}.`;
    if (scope.selector) yield `namespace-selector is set: only namespaces with these labels count: ${scope.selector}`;
  }
  if (resourceLabelSelector) {
    yield `resource-label-selector is set: only sources with these labels count: ${resourceLabelSelector}`;
  }
  if (webhookUrl !== '') yield 'webhook-url is set: changes are posted there, and no workload is reloaded';
}
