import { describe, expect, it } from '@jest/globals';
import { validateAgent } from './validate-agent.js';

const SKILL = { id: 'a', name: 'A', description: 'does a', tags: [] };
const AGENT = { name: 'a', description: 'an agent', version: '1.0.0', skills: [SKILL], run: () => undefined };
const validate = (changes: object, isUpstream = false) =>
  validateAgent('./a.mjs', { ...AGENT, ...changes }, { isUpstream });
const withSkill = (changes: object) => ({ skills: [{ ...SKILL, ...changes }] });

describe('validateAgent', () => {
  it.each<[string, object]>([
    ['skills[0].name must be', withSkill({ name: undefined })],
    ['skills[0].name must be', withSkill({ name: '' })],
    ['skills[0].id must be', withSkill({ id: 7 })],
    ['skills[0].description must be', withSkill({ description: null })],
    ['skills[0].tags must be', withSkill({ tags: undefined })],
    ['skills[0].tags must be', withSkill({ tags: 'text' })],
    ['skills[0] must be an object', { skills: ['shout'] }],
    ['two skills have the id "a"', { skills: [SKILL, { ...SKILL, name: 'B' }] }],
    ['needs skills', { skills: {} }],
    ['inputModes of agent "a"', { inputModes: 'text/plain' }],
    ['outputModes of agent "a"', { outputModes: [] }],
    ['concurrency of agent "a"', { concurrency: 0 }],
    ['idempotency of agent "a"', { idempotency: true }],
    ['retry of agent "a"', { retry: { attempts: 0 } }],
    ['retry of agent "a"', { retry: 3 }],
  ])('rejects an agent with one sentence that starts with its module, such as "%s" (%j)', (problem, changes) => {
    expect(() => validate(changes)).toThrow(problem);
    expect(() => validate(changes)).toThrow(/^ACTA_AGENTS: \.\/a\.mjs: [^\n]+$/);
  });

  it('accepts a complete agent, and passes on the skills of an upstream agent', () => {
    const complete = { inputModes: ['text/*'], concurrency: 1, idempotency: 'off', retry: { backoffMs: 5 } };
    expect(validate(complete)).toMatchObject({ ...AGENT, ...complete });
    expect(validate(withSkill({ tags: undefined }), true).skills).toHaveLength(1);
  });
});
