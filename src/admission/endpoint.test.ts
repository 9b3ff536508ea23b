import { describe, expect, it } from 'vitest';
import { clientConfigOf, hostsOf, placeOf } from './endpoint.ts';

const service = { name: 'attune-admission', namespace: 'attune', url: '' };
const at = (url: string) => ({ ...service, url });

describe('the endpoint', () => {
  it('is a Service under all its names', () => {
    expect(hostsOf(service)).toEqual([
      'attune-admission',
      'attune-admission.attune',
      'attune-admission.attune.svc',
      'attune-admission.attune.svc.cluster.local',
    ]);
    const config = clientConfigOf(service);
    expect(config).toEqual({ service: { name: 'attune-admission', namespace: 'attune', path: '/mutate', port: 443 } });
    expect(placeOf(config)).toBe('Service attune/attune-admission, port 443, path /mutate');
  });

  it.each([
    ['https://attune.example:9443', 'attune.example', 'https://attune.example:9443/mutate'],
    ['https://attune.example/mutate', 'attune.example', 'https://attune.example/mutate'],
    ['https://127.0.0.1:9443/a/b', '127.0.0.1', 'https://127.0.0.1:9443/a/b'],
    ['https://[::1]:9443', '::1', 'https://[::1]:9443/mutate'],
  ])('or %s', (url, host, registered) => {
    expect(hostsOf(at(url))).toEqual([host]);
    expect(clientConfigOf(at(url))).toEqual({ url: registered });
    expect(placeOf(clientConfigOf(at(url)))).toBe(registered);
  });
});
