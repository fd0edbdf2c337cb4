import { describe, expect, it } from '@jest/globals';
import { type Part, textOf } from '@app/domain';
import { aMessage } from '../../../../test/support/tasks.js';
import { splitConversation } from './conversation.js';

describe('splitConversation', () => {
  it('returns the newest message of the client, and all others as the history', () => {
    const messages = [aMessage('first'), { ...aMessage('answer'), role: 'agent' as const }, aMessage('second')];
    const conversation = splitConversation(messages)!;
    expect(textOf(conversation.message)).toBe('second');
    expect(conversation.history.map(textOf)).toEqual(['first', 'answer']);
  });

  it('returns null if no message is from the client', () => {
    expect(splitConversation([{ ...aMessage('answer'), role: 'agent' }])).toBeNull();
  });

  it('gives agents the same part for an erased message as clients get', () => {
    const placeholder = { reason: 'erased', taskId: 'task-1' };
    const erased = { ...aMessage('first'), parts: [{ placeholder } as Part] };
    const { history } = splitConversation([erased, aMessage('second')])!;
    expect(history[0]!.parts).toEqual([
      { data: { reason: 'erased', path: '/api/tasks/task-1/messages' }, metadata: { 'acta/placeholder': true } },
    ]);
  });
});
