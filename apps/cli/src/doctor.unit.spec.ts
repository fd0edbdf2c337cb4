import { describe, expect, it } from '@jest/globals';
import { checkNodeVersion } from './doctor.js';

describe('checkNodeVersion', () => {
  it.each(['20.19.0', '20.20.2', '22.12.0', '23.0.0', '24.1.0'])('accepts Node %s', (version) => {
    expect(checkNodeVersion(version).ok).toBe(true);
  });

  it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])('reports Node %s as not supported', (version) => {
    expect(checkNodeVersion(version)).toMatchObject({ ok: false, detail: expect.stringContaining(version) });
  });
});
