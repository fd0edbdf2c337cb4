import type { Message } from '@app/domain';
import { resolvePlaceholders } from '@app/wire';

/** The messages of a task at the start of a turn. */
export interface Conversation {
  /** The newest message of the client, which the turn processes. */
  readonly message: Message;
  /** All other messages, oldest first. The last ones are those that the agent has sent in this turn. */
  readonly history: readonly Message[];
}

/** Splits the messages of a task, oldest first. Returns null if none of them is from the client. Agents get placeholders as clients do. */
export function splitConversation(stored: readonly Message[]): Conversation | null {
  const messages = stored.map(resolvePlaceholders);
  const message = messages.findLast(({ role }) => role === 'user');
  return message === undefined ? null : { message, history: messages.filter((other) => other !== message) };
}
