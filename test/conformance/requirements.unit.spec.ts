import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

/** What the project claims of the specification, in its own words; tests cite the ids in brackets. */
interface Requirement {
  readonly id: string;
  /** Release of the specification, and its section. */
  readonly spec: string;
  readonly section: string;
  readonly requirement: string;
}

const here = fileURLToPath(new URL('.', import.meta.url));
const requirements = JSON.parse(readFileSync(join(here, 'requirements.json'), 'utf8')) as Requirement[];
const ids = requirements.map(({ id }) => id);

/** Id → the tests that cite it. */
const citations = new Map<string, string[]>();
for (const room of ['apps', 'libs', 'test']) {
  const root = join(here, '../..', room);
  for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.spec.ts') || file.includes('node_modules') || file.endsWith('requirements.unit.spec.ts'))
      continue;
    for (const [, id] of readFileSync(join(root, file), 'utf8').matchAll(/\[(A2A-[A-Z0-9]+-\d+)\]/g)) {
      citations.set(id!, [...(citations.get(id!) ?? []), `${room}/${file}`]);
    }
  }
}

it('each requirement is complete, and there once', () => {
  expect(new Set(ids).size).toBe(ids.length);
  for (const requirement of requirements) {
    expect(requirement).toEqual({
      id: expect.stringMatching(/^A2A-[A-Z0-9]+-\d+$/),
      spec: expect.stringMatching(/^(1\.0\.1|0\.3\.0)$/),
      section: expect.stringMatching(/^\d+(\.\d+)*$/),
      requirement: expect.stringMatching(/\.$/),
    });
  }
});

it('each requirement is cited by a test', () => {
  expect(ids.filter((id) => !citations.has(id))).toEqual([]);
});

it('no test cites a requirement that there is not', () => {
  expect([...citations].filter(([id]) => !ids.includes(id))).toEqual([]);
});
