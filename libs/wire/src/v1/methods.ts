import { BOUNDS, type JsonObject } from '@app/domain';
import { streamHasNoSingleResult } from '../codec.js';
import { dropUndefined, Violations } from '../validation/object-reader.js';
import { paramsOf, readParams } from '../validation/params.js';
import { enumName } from '../validation/proto-enum.js';
import type { AnyMethod, MethodRegistry, SendConfiguration, SendRequest } from '../requests.js';
import { parseTimestamp } from '../validation/timestamp.js';
import { encodeCard } from './card/agent-card.js';
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
import { encodeTaskPage, STATE_ENUM, STATUS_BY_STATE, taskEncoder } from './task.codec.js';

function decodeSend(params: JsonObject | undefined): SendRequest {
  const violations = new Violations();
  const { configuration, ...outer } = readParams(SendMessageParams, params, violations, {
    fieldCase: 'camel-or-snake',
  });
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
  const options = { fieldCase: 'camel-or-snake', path: 'configuration' } as const;
  const read = readParams(SendMessageConfigurationParams, source, violations, options);
  const push = read.taskPushNotificationConfig;
  return dropUndefined({
    returnImmediately: read.returnImmediately ?? false,
    acceptedOutputModes: readAcceptedOutputModes(read.acceptedOutputModes, violations),
    historyLength: read.historyLength,
    pushConfig: push && decodePushConfig(push, violations, 'configuration.taskPushNotificationConfig'),
  });
}

const taskParams = paramsOf(SubscribeToTaskParams, 'camel-or-snake');
const getTaskParams = paramsOf(GetTaskParams, 'camel-or-snake');
const cancelParams = paramsOf(CancelTaskParams, 'camel-or-snake');
const listParams = paramsOf(ListTasksParams, 'camel-or-snake');
const pushListParams = paramsOf(ListPushConfigsParams, 'camel-or-snake');
const pushIdParams = paramsOf(PushConfigIdParams, 'camel-or-snake');
const tenantParams = paramsOf(TenantParams, 'camel-or-snake');

/** Renames the `id` of a task request, which is the id of the task. */
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
      encode: (view, { configuration }) => taskEncoder.sendResponse(view, configuration.historyLength),
    },
  ],
  ['SendStreamingMessage', { operation: 'streamMessage', decode: decodeSend, encode: streamHasNoSingleResult }],
  [
    'GetTask',
    {
      operation: 'getTask',
      decode: (params) => withTaskId(getTaskParams(params)),
      encode: (view, { historyLength }) => taskEncoder.task(view, { historyLength }),
    },
  ],
  [
    'ListTasks',
    {
      operation: 'listTasks',
      decode: (params) => {
        const { status, statusTimestampAfter, pageSize, includeArtifacts, ...rest } = listParams(params);
        return dropUndefined({
          ...rest,
          pageSize: pageSize ?? BOUNDS.pageSizeDefault,
          includeArtifacts: includeArtifacts ?? false,
          // Undefined for TASK_STATE_UNSPECIFIED, which filters nothing.
          status: STATUS_BY_STATE.get(enumName(STATE_ENUM, status) ?? ''),
          statusTimestampAfter: statusTimestampAfter === undefined ? undefined : parseTimestamp(statusTimestampAfter),
        });
      },
      encode: encodeTaskPage,
    },
  ],
  [
    'CancelTask',
    {
      operation: 'cancelTask',
      decode: (params) => withTaskId(cancelParams(params)),
      encode: (view) => taskEncoder.task(view),
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
        const { taskId } = readParams(TaskPushConfigsParams, params, violations, { fieldCase: 'camel-or-snake' });
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
  // google.protobuf.Empty
  ['DeleteTaskPushNotificationConfig', { operation: 'deletePushConfig', decode: configIds, encode: () => ({}) }],
  ['GetExtendedAgentCard', { operation: 'getExtendedCard', decode: tenantParams, encode: encodeCard }],
]);
