import type { Message, MessageRequest, RunOutput } from '@app/domain';
import type { AgentContext } from '../agents/agent.contract.js';
import type { Conversation, MessageRequests } from './conversation.js';

/** What an agent is told about its turn, apart from the messages. It is plain data. */
export type TurnFacts = Pick<AgentContext, 'task' | 'attempt' | 'lease' | 'upstream'>;

/** A message that came during a run. */
export interface Arrival {
  /** Version of its event. */
  readonly version: number;
  readonly message: Message;
  readonly request: MessageRequest;
}

/** Where the outputs of an agent go. */
export interface TurnOutput {
  /** Whether this run has published the artifact before. */
  hasStarted(artifactId: string): boolean;
  /** Resolves when the output is buffered, or for an outcome when it is recorded. */
  write(output: RunOutput): Promise<void>;
}

/** The messages that come during a run. */
export interface TurnInbox {
  /** Yields messages as they come, until the run ends. With several readers, each message goes to one of them. */
  arrivals(signal: AbortSignal): AsyncIterable<Arrival>;
  /** Notes that the agent has got all messages up to this version. */
  markRead(version: number): void;
}

/** One turn of an agent, from which the `ctx` of the agent is made: in this process, or in the process of the agent. */
export interface AgentTurn {
  readonly facts: TurnFacts;
  readonly conversation: Conversation;
  readonly requests: MessageRequests;
  readonly output: TurnOutput;
  readonly inbox: TurnInbox;
  readonly signal: AbortSignal;
}

/** Executes one turn. Rejects with the error of the agent, or with AttemptLost. */
export type AgentRunner = (turn: AgentTurn, options: { readonly ownProcess: boolean }) => Promise<void>;
