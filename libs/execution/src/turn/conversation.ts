import type { ConversationMessage, Message, MessageRequest, TraceContext } from '@app/domain';
import { resolvePlaceholders } from '@app/wire';

/** The messages of a task, as a turn sees them. */
export interface Conversation {
  /** The newest message of the client, which the turn processes. */
  readonly message: Message;
  /** All other messages, oldest first. They end with what the agent itself has sent since. */
  readonly history: readonly Message[];
  /** The request that brought the message. Its trace context is that of the turn. */
  readonly request: MessageRequest;
}

/** The requests that brought messages. A message is found by identity, because clients can repeat its id. */
export type MessageRequests = WeakMap<Message, MessageRequest>;

/**
 * Splits the messages of a task, oldest first, and adds their requests to `requests`. Returns null if none of them is from the
 * client. Agents get placeholders as clients do.
 */
export function splitConversation(
  stored: readonly ConversationMessage[],
  trace: TraceContext | undefined,
  requests: MessageRequests = new WeakMap(),
): Conversation | null {
  const messages = stored.map(({ message: original, request }) => {
    const message = resolvePlaceholders(original);
    if (request !== undefined) requests.set(message, request);
    return message;
  });
  const message = messages.findLast(({ role }) => role === 'user');
  const sent = message && requests.get(message);
  if (message === undefined || sent === undefined) return null;
  const { trace: _, ...rest } = sent;
  const request = trace === undefined ? rest : { ...rest, trace };
  requests.set(message, request);
  return { message, history: messages.filter((other) => other !== message), request };
}
