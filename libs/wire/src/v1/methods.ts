import { BOUNDS, type JsonObject } from '@app/domain';
import { streamHasNoSingleResult } from '../codec.js';
import { Violations } from '../validation/object-reader.js';
import { paramsOf, readParams } from '../validation/params.js';
import type { AnyMethod, MethodRegistry, SendConfiguration, SendRequest } from '../requests.js';
import { parseTimestamp } from '../validation/timestamp.js';
import { encodeCard } from './agent-card.js';
import { readAcceptedOutputModes } from '../validation/accepted-output-modes.js';
import { decodeMessage } from './message.codec.js';
import {
  CancelTaskParams,
  GetTaskParams,
  ListPushConfigsParams,
  ListTasksParams,
  PushConfigIdParams,
  SendMessageConfigurationParams,
  SendMessageParams,
  SubscribeToTaskParams,
  TaskPushConfigsParams,
  TenantParams,
} from './params.js';
import { decodePushConfig, encodePushConfig, encodePushConfigPage } from './push.codec.js';
import { encodeSendResult, encodeTask, encodeTaskPage, STATUS_BY_STATE } from './task.codec.js';

function decodeSend(params: JsonObject | undefined): SendRequest {
  const violations = new Violations();
  const { configuration, ...outer } = readParams(SendMessageParams, params, violations, { spelling: 'either' });
  const request = {
    ...outer,
    ...decodeMessage(params?.['message'], violations),
    configuration: decodeConfiguration(configuration, violations),
  };
  violations.throwIfAny();
  return request;
}

function decodeConfiguration(source: JsonObject | undefined, violations: Violations): SendConfiguration {
  if (source === undefined) return { returnImmediately: false };
  const at = { spelling: 'either', path: 'configuration' } as const;
  const read = readParams(SendMessageConfigurationParams, source, violations, at);
  const modes = readAcceptedOutputModes(read.acceptedOutputModes, violations);
  const push = read.taskPushNotificationConfig;
  return {
    returnImmediately: read.returnImmediately ?? false,
    ...(modes === undefined ? {} : { acceptedOutputModes: modes }),
    ...(read.historyLength === undefined ? {} : { historyLength: read.historyLength }),
    ...(push === undefined
      ? {}
      : { pushConfig: decodePushConfig(push, violations, 'configuration.taskPushNotificationConfig') }),
  };
}

const taskParams = paramsOf(SubscribeToTaskParams, 'either');
const getTaskParams = paramsOf(GetTaskParams, 'either');
const cancelParams = paramsOf(CancelTaskParams, 'either');
const listParams = paramsOf(ListTasksParams, 'either');
const pushListParams = paramsOf(ListPushConfigsParams, 'either');
const pushIdParams = paramsOf(PushConfigIdParams, 'either');
const tenantParams = paramsOf(TenantParams, 'either');

/** `id` of a task request is its task. */
const withTaskId = <T extends { id: string }>({ id, ...rest }: T) => ({ taskId: id, ...rest });

const configIds = (params: JsonObject | undefined) => {
  const { id, ...rest } = pushIdParams(params);
  return { configId: id, ...rest };
};

/** The methods of A2A v1.0 (section 5.3). */
export const methods: MethodRegistry = new Map<string, AnyMethod>([
  [
    'SendMessage',
    {
      operation: 'sendMessage',
      decode: decodeSend,
      encode: (view, { configuration }) => encodeSendResult(view, configuration.historyLength),
    },
  ],
  ['SendStreamingMessage', { operation: 'streamMessage', decode: decodeSend, encode: streamHasNoSingleResult }],
  [
    'GetTask',
    {
      operation: 'getTask',
      decode: (params) => withTaskId(getTaskParams(params)),
      encode: (view, { historyLength }) => encodeTask(view, { historyLength }),
    },
  ],
  [
    'ListTasks',
    {
      operation: 'listTasks',
      decode: (params) => {
        const { status, statusTimestampAfter, pageSize, includeArtifacts, ...rest } = listParams(params);
        const wanted = status === undefined ? undefined : STATUS_BY_STATE.get(status);
        const after = statusTimestampAfter === undefined ? undefined : parseTimestamp(statusTimestampAfter);
        return {
          ...rest,
          pageSize: pageSize ?? BOUNDS.pageSizeDefault,
          includeArtifacts: includeArtifacts ?? false,
          ...(wanted === undefined ? {} : { status: wanted }),
          ...(after === undefined ? {} : { statusTimestampAfter: after }),
        };
      },
      encode: encodeTaskPage,
    },
  ],
  [
    'CancelTask',
    {
      operation: 'cancelTask',
      decode: (params) => withTaskId(cancelParams(params)),
      encode: (view) => encodeTask(view),
    },
  ],
  [
    'SubscribeToTask',
    {
      operation: 'subscribeToTask',
      decode: (params) => withTaskId(taskParams(params)),
      encode: streamHasNoSingleResult,
    },
  ],
  [
    'CreateTaskPushNotificationConfig',
    {
      operation: 'createPushConfig',
      decode: (params) => {
        const violations = new Violations();
        const { taskId } = readParams(TaskPushConfigsParams, params, violations, { spelling: 'either' });
        const config = decodePushConfig(params ?? {}, violations, '');
        violations.throwIfAny();
        return { ...config, taskId };
      },
      encode: encodePushConfig,
    },
  ],
  ['GetTaskPushNotificationConfig', { operation: 'getPushConfig', decode: configIds, encode: encodePushConfig }],
  [
    'ListTaskPushNotificationConfigs',
    {
      operation: 'listPushConfigs',
      decode: (params) => {
        const { pageSize, ...rest } = pushListParams(params);
        return { ...rest, pageSize: pageSize || BOUNDS.pageSizeDefault };
      },
      encode: encodePushConfigPage,
    },
  ],
  // The result is google.protobuf.Empty.
  ['DeleteTaskPushNotificationConfig', { operation: 'deletePushConfig', decode: configIds, encode: () => ({}) }],
  ['GetExtendedAgentCard', { operation: 'getExtendedCard', decode: tenantParams, encode: encodeCard }],
]);
