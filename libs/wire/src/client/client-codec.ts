import type { ArtifactView, Json, JsonObject, Message } from '@app/domain';
import type { CardDescription } from '../card-description.js';
import type { A2aTaskStatus } from '../requests.js';
import type { ProtocolVersion } from '../transport/version.js';

/** The upstream agent's ids of its task, and of its context if it names one. */
export interface UpstreamIds {
  readonly taskId: string;
  readonly contextId?: string;
}

export interface UpstreamStatus {
  readonly state: A2aTaskStatus;
  readonly message?: Message;
  /** As the upstream agent wrote it. */
  readonly timestamp?: string;
}

/** The current content of a task of an upstream agent. */
export interface UpstreamTaskSnapshot extends UpstreamIds {
  readonly status: UpstreamStatus;
  readonly artifacts: readonly ArtifactView[];
  /** The ids of the messages in its history, oldest first. */
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

/** One address of an upstream agent in a supported version. */
export interface UpstreamInterface {
  /** As in the card: it can be relative to the address of the card. */
  readonly url: string;
  readonly binding: string;
  readonly version: ProtocolVersion;
  /** Every request to the address must name this tenant. */
  readonly tenant?: string;
}

/** The card of an upstream agent. */
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
  /** The metadata of the request, not of its message. */
  readonly metadata?: JsonObject;
  readonly configuration: {
    readonly acceptedOutputModes?: readonly string[];
    /** Do not wait for an outcome. */
    readonly returnImmediately: boolean;
    /** Maximum number of messages in the response. */
    readonly historyLength: number;
  };
}

/**
 * The client side of one A2A version over JSON-RPC. The decoders are pure and throw InvalidParameters, whose paths are relative to
 * the decoded value.
 */
export interface A2aClientCodec {
  readonly version: ProtocolVersion;
  /** Name of the header that names extensions. */
  readonly extensionsHeader: string;
  /** Names of the JSON-RPC methods. */
  readonly methods: {
    readonly send: string;
    readonly stream: string;
    readonly get: string;
    readonly cancel: string;
    readonly subscribe: string;
    /** Absent if the version has no such method. */
    readonly list?: string;
  };
  encodeSend(request: OutgoingMessage): JsonObject;
  decodeUpdate(result: Json): UpstreamUpdate;
  decodeTask(result: Json): UpstreamTaskSnapshot;
  decodeTasks(result: Json): UpstreamTaskSnapshot[];
  /** Returns undefined if the card has the shape of a different version. */
  decodeCard(card: Json): UpstreamCard | undefined;
}
