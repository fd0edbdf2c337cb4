import type { Json, JsonObject, Message, TaskStatus, TaskView } from '@app/domain';
import type { CardDescription } from './card-description.js';

/** The statuses that A2A shows. A task that ended with a direct message response (`replied`) is not shown as a task. */
export type A2aTaskStatus = Exclude<TaskStatus, 'replied'>;

/** Every request can name a tenant, which is only compared with the caller's own. */
interface TenantRequest {
  readonly tenant?: string;
}

/** A webhook of one task. `credentials` and `token` are secrets. An encoder never writes `credentials`. */
export interface PushConfig {
  readonly id?: string;
  readonly taskId?: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

export interface SendConfiguration {
  readonly acceptedOutputModes?: readonly string[];
  /** Upper bound of the number of messages in the response's history; absent if the client sets none. */
  readonly historyLength?: number;
  /** Return the task in its current state, without waiting for an outcome. */
  readonly returnImmediately: boolean;
  readonly pushConfig?: PushConfig;
}

export interface SendRequest extends TenantRequest {
  readonly message: Message;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly configuration: SendConfiguration;
  /** The metadata of the request, not of the message. */
  readonly metadata?: JsonObject;
}

export interface TaskRequest extends TenantRequest {
  readonly taskId: string;
}

export interface GetTaskRequest extends TaskRequest {
  readonly historyLength?: number;
}

interface CancelRequest extends TaskRequest {
  readonly metadata?: JsonObject;
}

export interface ListTasksRequest extends TenantRequest {
  readonly contextId?: string;
  readonly status?: A2aTaskStatus;
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

interface PushConfigRequest extends TaskRequest {
  /** Absent in a v0.3 request for the only configuration of a task. */
  readonly configId?: string;
}

interface ListPushConfigsRequest extends TaskRequest {
  /** 1 to 100. */
  readonly pageSize: number;
  readonly pageToken?: string;
}

export interface PushConfigPage {
  readonly configs: readonly PushConfig[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/**
 * The operations of A2A in all versions: the request that a decoder returns and the result that an encoder takes. The result of
 * a send is a task view; one in the status `replied` is encoded as its message. A stream has no result: its updates are
 * encoded one by one.
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
 * One method of one version in one binding. `decode` takes the params (for HTTP+JSON, path, query and body combined) and throws
 * InvalidParameters. `encode` takes the request because it bounds the history of the result.
 */
export interface Method<O extends Operation> {
  readonly operation: O;
  decode(params: JsonObject | undefined): Operations[O]['request'];
  encode(result: Operations[O]['result'], request: Operations[O]['request']): Json;
}

export type AnyMethod = { [O in Operation]: Method<O> }[Operation];

/** Methods by name. It is a map, so that names such as `constructor` are not methods. A version's missing methods are absent. */
export type MethodRegistry = ReadonlyMap<string, AnyMethod>;
