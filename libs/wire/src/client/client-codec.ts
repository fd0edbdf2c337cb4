import type { ArtifactView, Json, JsonObject, Message, TaskStatus } from '@app/domain';
import type { CardDescription } from '../card-description.js';
import type { ProtocolVersion } from '../transport/version.js';

/** Ids that another agent gave: of its task, and of its context when it names one. */
export interface UpstreamIds {
  readonly taskId: string;
  readonly contextId?: string;
}

export interface UpstreamStatus {
  readonly state: Exclude<TaskStatus, 'replied'>;
  readonly message?: Message;
  /** As the agent wrote it. */
  readonly timestamp?: string;
}

/** A task of another agent, as it stands there. */
export interface UpstreamTaskSnapshot extends UpstreamIds {
  readonly status: UpstreamStatus;
  readonly artifacts: readonly ArtifactView[];
  /** Of the messages in its history, oldest first. */
  readonly messageIds: readonly string[];
}

/** The result of a send, or of one frame of a stream. */
export type UpstreamUpdate =
  | { readonly type: 'task'; readonly task: UpstreamTaskSnapshot }
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'status'; readonly ids: UpstreamIds; readonly status: UpstreamStatus }
  | {
      readonly type: 'artifact';
      readonly ids: UpstreamIds;
      readonly artifact: ArtifactView;
      readonly append: boolean;
      readonly last: boolean;
    };

/** Where an agent can be reached, in a version that is spoken here. */
export interface UpstreamInterface {
  /** As the card has it: perhaps relative to the card's own address. */
  readonly url: string;
  readonly binding: string;
  readonly version: ProtocolVersion;
  /** What every request there must name. */
  readonly tenant?: string;
}

/** What another agent's card says of it. */
export interface UpstreamCard extends Pick<
  CardDescription,
  'name' | 'description' | 'version' | 'skills' | 'inputModes' | 'outputModes'
> {
  readonly extensions: NonNullable<CardDescription['extensions']>;
  readonly streaming: boolean;
  /** In the agent's order of preference. */
  readonly interfaces: readonly UpstreamInterface[];
}

export interface OutgoingMessage extends Partial<UpstreamIds> {
  readonly message: Message;
  /** Wait for no outcome. */
  readonly returnImmediately: boolean;
}

/**
 * One protocol version of A2A as a client speaks it over JSON-RPC. Decoders are pure and throw InvalidParameters, with paths inside
 * what they were given.
 */
export interface A2aClientCodec {
  readonly version: ProtocolVersion;
  readonly methods: {
    readonly send: string;
    readonly stream: string;
    readonly get: string;
    readonly cancel: string;
    readonly subscribe: string;
    /** Absent where the version has none. */
    readonly list?: string;
  };
  encodeSend(request: OutgoingMessage): JsonObject;
  decodeUpdate(result: Json): UpstreamUpdate;
  decodeTask(result: Json): UpstreamTaskSnapshot;
  decodeTasks(result: Json): UpstreamTaskSnapshot[];
  /** Undefined for a card of another version's shape. */
  decodeCard(card: Json): UpstreamCard | undefined;
}
