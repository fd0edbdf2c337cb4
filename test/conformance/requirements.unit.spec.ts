import { describe, expect, it } from '@jest/globals';
import { projectFiles, readProjectFile } from '../support/project-files.js';

/** A requirement of the A2A specification. Tests cite its id in brackets. */
interface Requirement {
  readonly id: string;
  /** The release of the specification, and the section in it. */
  readonly spec: string;
  readonly section: string;
  readonly requirement: string;
}

const requirements = JSON.parse(readProjectFile('test/conformance/requirements.json')) as Requirement[];
const requirementIds = requirements.map(({ id }) => id);

const [covered = '', notCovered = ''] = readProjectFile('test/requirements.md').split('## Not yet covered');
const caseIds = [...covered.matchAll(/^- (F\d+): .+ → .+\.$/gm)].map(([, id]) => id!);
const uncoveredIds = [...notCovered.matchAll(/^- (F\d+): .+\.$/gm)].map(([, id]) => id!);
const partlyUncoveredIds = [...notCovered.matchAll(/^- (F\d+), [^:]+: .+\.$/gm)].map(([, id]) => id!);

const specs = projectFiles('apps', 'libs', 'test').filter(
  (file) => file.endsWith('.spec.ts') && !file.endsWith('requirements.unit.spec.ts'),
);
const citedRequirements = citations(/\[(A2A-[A-Z0-9]+-\d+)\]/g);
const citedCases = citations(/(?<=\/\/.*|^ *\*.*)\b(F\d+)\b/gm);

describe('The requirements of the A2A specification', () => {
  it('are complete and unique', () => {
    expect(new Set(requirementIds).size).toBe(requirementIds.length);
    for (const requirement of requirements) {
      expect(requirement).toEqual({
        id: expect.stringMatching(/^A2A-[A-Z0-9]+-\d+$/),
        spec: expect.stringMatching(/^(1\.0\.1|0\.3\.0)$/),
        section: expect.stringMatching(/^\d+(\.\d+)*$/),
        requirement: expect.stringMatching(/\.$/),
      });
    }
  });

  it('are each cited by a test', () => {
    expect(requirementIds.filter((id) => !citedRequirements.has(id))).toEqual([]);
  });

  it('contain every id that a test cites', () => {
    expect([...citedRequirements].filter(([id]) => !requirementIds.includes(id))).toEqual([]);
  });
});

describe('The cases of test/requirements.md', () => {
  it('are numbered from F1 without a gap', () => {
    expect(caseIds).toEqual(caseIds.map((_, index) => `F${index + 1}`));
    expect(caseIds.length).toBe(covered.match(/^- F/gm)?.length);
    expect(uncoveredIds.length + partlyUncoveredIds.length).toBe(notCovered.match(/^- F/gm)?.length ?? 0);
  });

  it('are each cited in a comment of a test, except for those that are not yet covered', () => {
    expect(caseIds.filter((id) => !citedCases.has(id))).toEqual(uncoveredIds);
  });

  it('contain every id that a test cites', () => {
    expect([...citedCases].filter(([id]) => !caseIds.includes(id))).toEqual([]);
  });
});

/** Returns id → the specs that cite it. The first group of the pattern is the id. */
function citations(pattern: RegExp): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of specs) {
    for (const [, id] of readProjectFile(file).matchAll(pattern)) found.set(id!, [...(found.get(id!) ?? []), file]);
  }
  return found;
}
