import { activeRun, type RunOutput, textOf } from '@app/domain';
import type { AgentContext, MessageInput } from '../agents/agent.contract.js';
import type { AppliedTask } from '../queue/apply-to-locked.js';
import { toArtifactOutput, toMessage } from './agent-output.js';
import type { Conversation, MessageRequests } from './conversation.js';
import type { MessageInbox } from './message-inbox.js';
import type { RunWriter } from './run-writer.js';

interface AgentContextParts {
  readonly claimed: AppliedTask;
  readonly conversation: Conversation;
  readonly requests: MessageRequests;
  readonly runWriter: RunWriter;
  readonly inbox: MessageInbox;
  readonly signal: AbortSignal;
}

/** Returns the `ctx` that an agent receives for one run. */
export function createAgentContext(parts: AgentContextParts): AgentContext {
  const { claimed, conversation, requests, runWriter, inbox, signal } = parts;
  const { tenantId, taskId, head } = claimed;
  const { contextId, ring, owner, upstream = null } = head.state;
  const { id: runId, attempt, worker, leaseGeneration, dispatcherGeneration } = activeRun(head.state)!;
  const write = (output: RunOutput): Promise<void> => {
    const written = runWriter.write(output);
    // The agent may not await the result. An unhandled rejection would end the process and all other runs in it.
    written.catch(() => undefined);
    return written;
  };
  const messageOf = (input: MessageInput) => ({ message: toMessage(input, taskId) });
  const optionalMessageOf = (input: MessageInput | undefined) => (input === undefined ? {} : messageOf(input));
  return {
    task: { tenant: tenantId, id: taskId, contextId, ring, owner },
    ...conversation,
    text: textOf(conversation.message),
    metadata: conversation.message.metadata ?? {},
    requestOf: (message) => requests.get(message) ?? null,
    signal,
    attempt,
    lease: { runId, worker, leaseGeneration, dispatcherGeneration },
    upstream,
    attach: ({ taskId: id, contextId: upstreamContextId, messageId }) =>
      write({ type: 'status', upstream: { taskId: id, contextId: upstreamContextId, messageId } }),
    working: (input) => write({ type: 'status', ...optionalMessageOf(input) }),
    artifact: (input) => write(toArtifactOutput(input, (id) => runWriter.hasStarted(id), taskId)),
    requireInput: (input) => write({ type: 'input-required', ...messageOf(input) }),
    requireAuth: (input) => write({ type: 'auth-required', ...messageOf(input) }),
    complete: (input) => write({ type: 'complete', ...optionalMessageOf(input) }),
    fail: (input) => write({ type: 'fail', ...messageOf(input) }),
    reject: (input) => write({ type: 'reject', ...messageOf(input) }),
    cancel: (input) => write({ type: 'canceled', ...optionalMessageOf(input) }),
    reply: (input) => write({ type: 'reply', ...messageOf(input) }),
    messages: () => inbox.messages(signal),
  };
}
