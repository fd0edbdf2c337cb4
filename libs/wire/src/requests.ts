import type { Json, JsonObject, Message, TaskStatus, TaskView } from '@app/domain';
import type { CardDescription } from './card-description.js';

/** Every decoded request may name a tenant; it is only checked against the caller's own. */
interface TenantRequest {
  readonly tenant?: string;
}

/** A webhook of one task. `credentials` and `token` are secrets: they go in, and an encoder never writes `credentials`. */
export interface PushConfig {
  readonly id?: string;
  readonly taskId?: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

export interface SendConfiguration {
  readonly acceptedOutputModes?: readonly string[];
  /** Upper bound of the messages in the answer's history; absent: no bound of the client's. */
  readonly historyLength?: number;
  /** Answer with the task as it is, without waiting for an outcome. */
  readonly returnImmediately: boolean;
  readonly pushConfig?: PushConfig;
}

export interface SendRequest extends TenantRequest {
  readonly message: Message;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly configuration: SendConfiguration;
  /** Of the request, not of the message. */
  readonly metadata?: JsonObject;
}

export interface TaskRequest extends TenantRequest {
  readonly taskId: string;
}

export interface GetTaskRequest extends TaskRequest {
  readonly historyLength?: number;
}

export interface CancelRequest extends TaskRequest {
  readonly metadata?: JsonObject;
}

export interface ListTasksRequest extends TenantRequest {
  readonly contextId?: string;
  readonly status?: Exclude<TaskStatus, 'replied'>;
  /** 1 to 100. */
  readonly pageSize: number;
  readonly pageToken?: string;
  readonly historyLength?: number;
  /** Inclusive; RFC 3339, UTC, milliseconds. */
  readonly statusTimestampAfter?: string;
  readonly includeArtifacts: boolean;
}

export interface TaskPage {
  readonly tasks: readonly TaskView[];
  readonly totalSize: number;
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
}

export interface PushConfigRequest extends TaskRequest {
  /** Absent in v0.3's `get` of a task's only configuration. */
  readonly configId?: string;
}

export interface ListPushConfigsRequest extends TaskRequest {
  /** 1 to 100. */
  readonly pageSize: number;
  readonly pageToken?: string;
}

export interface PushConfigPage {
  readonly configs: readonly PushConfig[];
  readonly nextPageToken: string;
}

/**
 * What an A2A client can ask, in any version: the request that a decoder gives and the result that an encoder takes. The result of a
 * send is the task's view; one that ended in a bare reply (`replied`) is written as its message. Streams have no result: they
 * are encoded update by update.
 */
export interface Operations {
  sendMessage: { request: SendRequest; result: TaskView };
  streamMessage: { request: SendRequest; result: never };
  getTask: { request: GetTaskRequest; result: TaskView };
  listTasks: { request: ListTasksRequest; result: TaskPage };
  cancelTask: { request: CancelRequest; result: TaskView };
  subscribeToTask: { request: TaskRequest; result: never };
  createPushConfig: { request: PushConfig & TaskRequest; result: PushConfig };
  getPushConfig: { request: PushConfigRequest; result: PushConfig };
  listPushConfigs: { request: ListPushConfigsRequest; result: PushConfigPage };
  deletePushConfig: { request: PushConfigRequest & { readonly configId: string }; result: void };
  getExtendedCard: { request: TenantRequest; result: CardDescription };
}

export type Operation = keyof Operations;

/**
 * One method of one version in one binding. `decode` takes the params (in HTTP+JSON, what path, query and body say together) and throws
 * InvalidParameters; `encode` gets the request for its history bound.
 */
export interface Method<O extends Operation> {
  readonly operation: O;
  decode(params: JsonObject | undefined): Operations[O]['request'];
  encode(result: Operations[O]['result'], request: Operations[O]['request']): Json;
}

export type AnyMethod = { [O in Operation]: Method<O> }[Operation];

/** Method name → method. A map, so that `constructor` and its like are no methods; what a version lacks is absent. */
export type MethodRegistry = ReadonlyMap<string, AnyMethod>;
