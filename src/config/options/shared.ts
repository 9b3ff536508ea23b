import { text } from './option.ts';

/** Of every command that runs until it is stopped. */
export const LOG_OPTIONS = {
  logFormat: text({
    flag: 'log-format',
    group: 'output',
    doc: 'Empty for text, `json` for one JSON object per line.',
  }),
  logLevel: text({
    flag: 'log-level',
    fallback: 'info',
    group: 'output',
    doc: 'trace, debug, info, warning, error, fatal or panic. Not applied when the format is unknown.',
  }),
} as const;

/** Where it is reached, and how it reaches the cluster. */
export const PROCESS_OPTIONS = {
  listenAddress: text({
    env: 'ATTUNE_LISTEN_ADDRESS',
    group: 'process',
    doc: 'Host on which port 9090 is opened. Unset: all interfaces.',
  }),
  kubeconfig: text({
    flag: 'kubeconfig',
    local: true,
    env: 'KUBECONFIG',
    group: 'process',
    doc: 'Path of the kubeconfig. Unset: ~/.kube/config if it exists, else the service account of the pod.',
  }),
  context: text({
    flag: 'context',
    local: true,
    group: 'process',
    doc: 'Context of the kubeconfig. Unset: its current one.',
  }),
} as const;
