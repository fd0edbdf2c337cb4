import type { Message, MessageRequest, RunOutput } from '@app/domain';
import type { TurnFacts } from '../../turn/agent-turn.js';

/**
 * The messages between Acta and the process of an agent module. Each is one line of JSON. Lines with `run` and content
 * (`start`, `history`, `message`, `output`, `end`) are acknowledged by their number; see FlowControl.
 */
export type ToAgent =
  | { readonly type: 'load'; readonly path: string }
  /** `partial`: lines with the rest of the history follow. */
  | {
      readonly type: 'start';
      readonly run: string;
      readonly agent: number;
      readonly facts: TurnFacts;
      readonly message: SentMessage;
      readonly history: readonly SentMessage[];
      readonly partial: boolean;
    }
  | {
      readonly type: 'history';
      readonly run: string;
      readonly messages: readonly SentMessage[];
      readonly last: boolean;
    }
  | { readonly type: 'message'; readonly run: string; readonly version: number; readonly sent: Required<SentMessage> }
  | { readonly type: 'abort'; readonly run: string; readonly reason: SentError }
  /** The run is not wanted any more, if it has not started. */
  | { readonly type: 'drop'; readonly run: string }
  | { readonly type: 'ack'; readonly run: string; readonly count: number }
  /** An output could not be recorded. */
  | { readonly type: 'failed'; readonly run: string; readonly error: SentError }
  /** `sentMs`: time on the clock of the machine that never goes back, in milliseconds. */
  | { readonly type: 'ping'; readonly sentMs: number }
  /** Answers a late answer to a ping: all runs that were dropped meanwhile have been named. */
  | { readonly type: 'resume' }
  | {
      readonly type: 'call';
      readonly call: number;
      readonly agent: number;
      readonly name: RemoteFunction;
      readonly args: readonly unknown[];
    };

export type FromAgent =
  | { readonly type: 'loaded'; readonly agents: readonly (SentAgent | null)[] }
  | { readonly type: 'not-loaded'; readonly error: SentError }
  /** Sent before the code of the agent runs, because that code may never return. */
  | { readonly type: 'started'; readonly runs: readonly string[] }
  /** `read`: version of the newest message that the agent has got during the run; absent: none. */
  | { readonly type: 'output'; readonly run: string; readonly output: RunOutput; readonly read?: number }
  | { readonly type: 'end'; readonly run: string; readonly error?: SentError; readonly read?: number }
  | { readonly type: 'ack'; readonly run: string; readonly count: number }
  | { readonly type: 'pong'; readonly late: boolean }
  | { readonly type: 'result'; readonly call: number; readonly value?: unknown; readonly error?: SentError }
  /** A promise was rejected without a handler, or an exception is about to end the process. */
  | { readonly type: 'unhandled'; readonly error: SentError; readonly fatal: boolean };

export interface SentMessage {
  readonly message: Message;
  readonly request?: MessageRequest;
}

/** An agent of a module: its fields, and which of its functions exist. */
export interface SentAgent {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly functions: readonly string[];
}

/** The functions of an agent, besides `run`, that Acta calls. */
export type RemoteFunction = 'onCanceled';

export interface SentError {
  readonly kind: 'error' | 'cancel' | 'timeout' | 'fenced' | 'invalid-response';
  readonly name: string;
  readonly text: string;
  /** The frames of its stack, without the message. */
  readonly frames: string;
  readonly retryable: boolean;
}

/** The number of bytes of one run that may be unacknowledged, in each direction. A longer line is sent alone. */
export const WINDOW_BYTES = 256 * 1024;
/** How long a process may leave a ping unanswered before it gets no more work. */
export const RESPONSIVE_MS = 1_000;
