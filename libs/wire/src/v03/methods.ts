import { BOUNDS, type JsonObject } from '@app/domain';
import { readAcceptedOutputModes } from '../validation/accepted-output-modes.js';
import { streamHasNoSingleResult } from '../codec.js';
import { dropUndefined, Violations } from '../validation/object-reader.js';
import { paramsOf, readParams } from '../validation/params.js';
import type { AnyMethod, MethodRegistry, SendConfiguration, SendRequest } from '../requests.js';
import { encodeCard } from './agent-card.js';
import { decodeMessage } from './message.codec.js';
import {
  DeletePushConfigParams,
  GetPushConfigParams,
  MessageSendConfiguration,
  MessageSendParams,
  NoParams,
  TaskIdParams,
  TaskPushConfig,
  TaskQueryParams,
} from './params.js';
import { decodePushConfig, encodePushConfig } from './push.codec.js';
import { encodeSendResult, encodeTask } from './task.codec.js';

const camel = { fieldCase: 'camel' } as const;

function decodeSend(params: JsonObject | undefined): SendRequest {
  const violations = new Violations();
  const { configuration, metadata } = readParams(MessageSendParams, params, violations, camel);
  const request = {
    ...decodeMessage(params?.['message'], violations),
    configuration: decodeConfiguration(configuration, violations),
    ...(metadata === undefined ? {} : { metadata }),
  };
  violations.throwIfAny();
  return request;
}

/**
 * A send waits unless `blocking` is false. The v0.3 JSON-RPC spec defines no default, but its proto describes `SendMessage` as "a
 * blocking call that will return the task once it is completed", its section 9.2 returns a completed task without `blocking`, and
 * its SDKs wait. v1.0 has the same default.
 */
function decodeConfiguration(source: JsonObject | undefined, violations: Violations): SendConfiguration {
  if (source === undefined) return { returnImmediately: false };
  const options = { ...camel, path: 'configuration' };
  const read = readParams(MessageSendConfiguration, source, violations, options);
  const push = read.pushNotificationConfig;
  return dropUndefined({
    returnImmediately: read.blocking === false,
    acceptedOutputModes: readAcceptedOutputModes(read.acceptedOutputModes, violations),
    historyLength: read.historyLength,
    pushConfig: push && decodePushConfig(push, violations, 'configuration.pushNotificationConfig'),
  });
}

const taskIdParams = paramsOf(TaskIdParams, 'camel');
const taskQueryParams = paramsOf(TaskQueryParams, 'camel');
const getPushParams = paramsOf(GetPushConfigParams, 'camel');
const deletePushParams = paramsOf(DeletePushConfigParams, 'camel');
const noParams = paramsOf(NoParams, 'camel');

/** The methods of A2A v0.3 (section 7). It has no method that lists tasks. */
export const methods: MethodRegistry = new Map<string, AnyMethod>([
  [
    'message/send',
    {
      operation: 'sendMessage',
      decode: decodeSend,
      encode: (view, { configuration }) => encodeSendResult(view, configuration.historyLength),
    },
  ],
  ['message/stream', { operation: 'streamMessage', decode: decodeSend, encode: streamHasNoSingleResult }],
  [
    'tasks/get',
    {
      operation: 'getTask',
      decode: (params) => {
        const { id, historyLength } = taskQueryParams(params);
        return { taskId: id, ...(historyLength === undefined ? {} : { historyLength }) };
      },
      encode: (view, { historyLength }) => encodeTask(view, historyLength),
    },
  ],
  [
    'tasks/cancel',
    {
      operation: 'cancelTask',
      decode: (params) => {
        const { id, metadata } = taskIdParams(params);
        return { taskId: id, ...(metadata === undefined ? {} : { metadata }) };
      },
      encode: (view) => encodeTask(view),
    },
  ],
  [
    'tasks/resubscribe',
    {
      operation: 'subscribeToTask',
      decode: (params) => ({ taskId: taskIdParams(params).id }),
      encode: streamHasNoSingleResult,
    },
  ],
  [
    'tasks/pushNotificationConfig/set',
    {
      operation: 'createPushConfig',
      decode: (params) => {
        const violations = new Violations();
        const { taskId, pushNotificationConfig } = readParams(TaskPushConfig, params, violations, camel);
        violations.throwIfAny();
        const config = decodePushConfig(pushNotificationConfig, violations, 'pushNotificationConfig');
        violations.throwIfAny();
        return { ...config, taskId };
      },
      encode: encodePushConfig,
    },
  ],
  [
    'tasks/pushNotificationConfig/get',
    {
      operation: 'getPushConfig',
      decode: (params) => {
        const { id, pushNotificationConfigId: configId } = getPushParams(params);
        return { taskId: id, ...(configId === undefined ? {} : { configId }) };
      },
      encode: encodePushConfig,
    },
  ],
  [
    'tasks/pushNotificationConfig/list',
    {
      operation: 'listPushConfigs',
      // v0.3 has no pages of configurations, so one response has as many as fit into the largest page.
      decode: (params) => ({ taskId: taskIdParams(params).id, pageSize: BOUNDS.pageSizeMax }),
      encode: ({ configs }) => configs.map(encodePushConfig),
    },
  ],
  [
    'tasks/pushNotificationConfig/delete',
    {
      operation: 'deletePushConfig',
      decode: (params) => {
        const { id, pushNotificationConfigId } = deletePushParams(params);
        return { taskId: id, configId: pushNotificationConfigId };
      },
      encode: () => null,
    },
  ],
  [
    'agent/getAuthenticatedExtendedCard',
    {
      operation: 'getExtendedCard',
      decode: (params) => {
        noParams(params);
        return {};
      },
      encode: encodeCard,
    },
  ],
]);
