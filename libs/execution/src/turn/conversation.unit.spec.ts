import { describe, expect, it } from '@jest/globals';
import { type ConversationMessage, type Message, type Part, textOf } from '@app/domain';
import { aMessage } from '../../../../test/support/tasks.js';
import { type MessageRequests, splitConversation } from './conversation.js';

const sent = (name: string) => ({
  metadata: { name },
  configuration: { acceptedOutputModes: [], returnImmediately: false },
  extensions: [],
  client: {},
  trace: { parent: `the trace of ${name}` },
});

/** Returns a message with its request, as a task contains it. */
const received = (message: Message): ConversationMessage =>
  message.role === 'user' ? { message, request: sent(textOf(message)) } : { message };

describe('splitConversation', () => {
  it('returns the newest message of the client, and all others as the history', () => {
    const messages = [aMessage('first'), { ...aMessage('answer'), role: 'agent' as const }, aMessage('second')];
    const conversation = splitConversation(messages.map(received), undefined)!;
    expect(textOf(conversation.message)).toBe('second');
    expect(conversation.history.map(textOf)).toEqual(['first', 'answer']);
  });

  it('returns the request of each message, and the trace context of the turn', () => {
    const messages = [aMessage('first'), { ...aMessage('answer'), role: 'agent' as const }, aMessage('second')];
    const requests: MessageRequests = new WeakMap();
    const turn = { parent: 'the trace of a resume' };
    const { message, history, request } = splitConversation(messages.map(received), turn, requests)!;
    expect(request).toEqual({ ...sent('second'), trace: turn });
    expect([...history, message].map((one) => requests.get(one))).toEqual([sent('first'), undefined, request]);
    expect(splitConversation(messages.map(received), undefined)!.request).not.toHaveProperty('trace');
  });

  it('returns null if no message is from the client', () => {
    expect(splitConversation([received({ ...aMessage('answer'), role: 'agent' })], undefined)).toBeNull();
  });

  it('gives agents the same part for an erased message as clients get', () => {
    const placeholder = { reason: 'erased', taskId: 'task-1' };
    const erased = { ...aMessage('first'), parts: [{ placeholder } as Part] };
    const { history } = splitConversation([erased, aMessage('second')].map(received), undefined)!;
    expect(history[0]!.parts).toEqual([
      { data: { reason: 'erased', path: '/api/tasks/task-1/messages' }, metadata: { 'acta/placeholder': true } },
    ]);
  });
});
