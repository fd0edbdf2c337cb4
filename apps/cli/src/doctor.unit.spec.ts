import { expect, it } from '@jest/globals';
import { nodeVersion } from './doctor.js';

it.each(['20.19.0', '20.20.2', '22.12.0', '23.0.0', '24.1.0'])('is content with Node %s', (version) => {
  expect(nodeVersion(version).ok).toBe(true);
});

it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])('wants another Node than %s', (version) => {
  expect(nodeVersion(version)).toMatchObject({ ok: false, detail: expect.stringContaining(version) });
});
