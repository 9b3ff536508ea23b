import type { Rule } from '../schema/field.ts';

/** A Go duration that does not go back in time. */
export const TIME_SPAN: Rule = {
  rule: "self.matches('^(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$')",
  message: 'must be a duration like 5m or 1h30m',
};

/** More than 0, as far as it can be seen from the text: servers before 1.29 cannot compare amounts. */
export const QUANTITY: Rule = {
  rule:
    'type(self) == int ? self > 0 : ' +
    "self.matches('^([0-9]+([.][0-9]*)?|[.][0-9]+)(m|k|[KMGTPE]i|[MGTPE]|[eE][+]?[0-9]+)?$') && self.matches('[1-9]')",
  message: 'must be an amount of memory like 512Mi, more than 0',
};

export const MEMORY_RULES: readonly Rule[] = [
  {
    rule: '!has(self.maxMemory) || !has(self.maxMemoryPercent)',
    message: 'maxMemory and maxMemoryPercent exclude each other: take one of them out',
  },
];

export const REPLICA_MODE_RULES: readonly Rule[] = [
  {
    rule: "!self.enabled || (has(self.source) && self.source.host.trim() != '')",
    message: 'source.host must say whom to follow when enabled is true',
  },
  {
    rule: '!self.promote || self.enabled',
    message: 'promote counts only while enabled is true: set enabled too, or take promote out',
  },
];

export const SPEC_RULES: readonly Rule[] = [
  {
    rule:
      '!has(self.memory) || !has(self.memory.maxMemoryPercent) || ' +
      "(has(self.resources) && has(self.resources.limits) && 'memory' in self.resources.limits)",
    message: 'memory.maxMemoryPercent is a part of resources.limits.memory, which is missing: add it, or use maxMemory',
  },
  {
    rule:
      '!has(self.memory) || !has(self.redis) || ' +
      "!self.redis.exists(key, key.lowerAscii() in ['maxmemory', 'maxmemory-policy'])",
    message: 'redis must not have maxmemory or maxmemory-policy beside memory: say it in one place',
  },
  {
    rule: 'has(self.tlsSecret) == has(self.caSecret)',
    message: 'tlsSecret and caSecret must both be there, or none of them',
  },
  {
    rule: "self.mode != 'cluster' || !has(self.replicaMode) || !self.replicaMode.enabled",
    message: 'replicaMode is not for mode cluster: Redis Cluster decides on the roles itself',
  },
];
