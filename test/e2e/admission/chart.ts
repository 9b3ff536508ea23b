import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Manifest } from './world.ts';

/** A chart with this one object, whose label is a value. */
export function chartOf(object: Manifest): string {
  const folder = mkdtempSync(join(tmpdir(), 'attune-chart-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'templates'));
  const metadata = { ...object.metadata, labels: { release: '{{ .Values.label }}' } };
  writeFileSync(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: one\nversion: 0.1.0\n');
  writeFileSync(join(folder, 'values.yaml'), 'label: one\n');
  writeFileSync(join(folder, 'templates', 'object.yaml'), JSON.stringify({ ...object, metadata }, undefined, 2));
  return folder;
}
