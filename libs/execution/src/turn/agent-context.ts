import { type Message, type RunOutput, textOf } from '@app/domain';
import type { AgentContext, MessageInput } from '../agents/agent.contract.js';
import { toArtifactOutput, toMessage, toUpstreamTask } from './agent-output.js';
import type { AgentTurn, TurnInbox } from './agent-turn.js';

/** Returns the `ctx` that an agent receives for one run. It is created in the process that executes the agent. */
export function createAgentContext({
  facts,
  conversation,
  requests,
  output: turnOutput,
  inbox,
  signal,
}: AgentTurn): AgentContext {
  const taskId = facts.task.id;
  const write = (output: RunOutput): Promise<void> => {
    const written = turnOutput.write(output);
    // The agent may not await the result. An unhandled rejection would end the process and all other runs in it.
    written.catch(() => undefined);
    return written;
  };
  const messageOf = (input: MessageInput, method: string) => ({ message: toMessage(input, taskId, method) });
  const optionalMessageOf = (input: MessageInput | undefined, method: string) =>
    input === undefined ? {} : messageOf(input, method);
  return {
    ...facts,
    ...conversation,
    text: textOf(conversation.message),
    metadata: conversation.message.metadata ?? {},
    requestOf: (message) => requests.get(message) ?? null,
    signal,
    attach: (upstream) => write({ type: 'status', upstream: toUpstreamTask(upstream, taskId) }),
    working: (input) => write({ type: 'status', ...optionalMessageOf(input, 'working') }),
    artifact: (input) => write(toArtifactOutput(input, (id) => turnOutput.hasStarted(id), taskId)),
    requireInput: (input) => write({ type: 'input-required', ...messageOf(input, 'requireInput') }),
    requireAuth: (input) => write({ type: 'auth-required', ...messageOf(input, 'requireAuth') }),
    complete: (input) => write({ type: 'complete', ...optionalMessageOf(input, 'complete') }),
    fail: (input) => write({ type: 'fail', ...messageOf(input, 'fail') }),
    reject: (input) => write({ type: 'reject', ...messageOf(input, 'reject') }),
    cancel: (input) => write({ type: 'canceled', ...optionalMessageOf(input, 'cancel') }),
    reply: (input) => write({ type: 'reply', ...messageOf(input, 'reply') }),
    messages: () => readMessages(inbox, signal),
  };
}

async function* readMessages(inbox: TurnInbox, signal: AbortSignal): AsyncGenerator<Message> {
  for await (const { version, message } of inbox.arrivals(signal)) {
    inbox.markRead(version);
    yield message;
  }
}
