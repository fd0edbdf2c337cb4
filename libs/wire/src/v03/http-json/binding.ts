import { BOUNDS, type JsonObject } from '@app/domain';
import { readAcceptedOutputModes } from '../../validation/accepted-output-modes.js';
import { streamHasNoSingleResult } from '../../codec.js';
import { HttpBinding } from '../../transport/http-binding.js';
import { dropUndefined, Violations } from '../../validation/object-reader.js';
import { paramsOf, readParams } from '../../validation/params.js';
import type { Method, PushConfig, SendConfiguration, SendRequest, TaskRequest } from '../../requests.js';
import { decodeMessage, encodeCard, encodePushConfig, encodeUpdate, taskEncoder } from './body.codec.js';
import {
  CreateConfigBody,
  GetTaskQuery,
  ListConfigsQuery,
  SendMessageConfigurationBody,
  SendMessageRequestBody,
  TaskConfigBody,
  TaskConfigPath,
  TaskPath,
} from './params.js';
import { decodePushConfig } from '../push.codec.js';

const protoJson = { fieldCase: 'camel-or-snake' } as const;

function decodeSend(params: JsonObject = {}): SendRequest {
  const violations = new Violations();
  const { configuration, metadata } = readParams(SendMessageRequestBody, params, violations, protoJson);
  const request = {
    ...decodeMessage(params, violations),
    configuration: decodeConfiguration(configuration, violations),
    ...(metadata === undefined ? {} : { metadata }),
  };
  violations.throwIfAny();
  return request;
}

/**
 * A send without a configuration waits, as in JSON-RPC. In a configuration, proto3 omits false and zero: an absent `blocking` is
 * false, and a `historyLength` of 0 sets no bound ("if 0, the history will be unlimited").
 */
function decodeConfiguration(source: JsonObject | undefined, violations: Violations): SendConfiguration {
  if (source === undefined) return { returnImmediately: false };
  const options = { ...protoJson, path: 'configuration' };
  const read = readParams(SendMessageConfigurationBody, source, violations, options);
  const push = read.pushNotification;
  return dropUndefined({
    returnImmediately: read.blocking !== true,
    acceptedOutputModes: readAcceptedOutputModes(read.acceptedOutputModes, violations),
    historyLength: read.historyLength || undefined,
    pushConfig: push && decodePushConfig(push, violations, 'configuration.pushNotification'),
  });
}

function decodeCreateConfig(params: JsonObject = {}): PushConfig & TaskRequest {
  const violations = new Violations();
  const { taskId, configId, config } = readParams(CreateConfigBody, params, violations, protoJson);
  const [source, path] = config === undefined ? [params, ''] : [config, 'config'];
  const { pushNotificationConfig } = readParams(TaskConfigBody, source, violations, { ...protoJson, path });
  violations.throwIfAny();
  const configPath = path === '' ? 'pushNotificationConfig' : `${path}.pushNotificationConfig`;
  const decoded = decodePushConfig(pushNotificationConfig, violations, configPath);
  violations.throwIfAny();
  return { ...(configId === undefined ? {} : { id: configId }), ...decoded, taskId };
}

const taskPath = paramsOf(TaskPath, 'camel-or-snake');
const taskQuery = paramsOf(GetTaskQuery, 'camel-or-snake');
const configPath = paramsOf(TaskConfigPath, 'camel-or-snake');
const configsQuery = paramsOf(ListConfigsQuery, 'camel-or-snake');

const sendMessage: Method<'sendMessage'> = {
  operation: 'sendMessage',
  decode: decodeSend,
  encode: (view, { configuration }) => taskEncoder.sendResponse(view, configuration.historyLength),
};

const streamMessage: Method<'streamMessage'> = {
  operation: 'streamMessage',
  decode: decodeSend,
  encode: streamHasNoSingleResult,
};

const getTask: Method<'getTask'> = {
  operation: 'getTask',
  decode: (params) => {
    const { id, historyLength } = taskQuery(params);
    return { taskId: id, ...(historyLength === undefined ? {} : { historyLength }) };
  },
  encode: (view, { historyLength }) => taskEncoder.task(view, { historyLength }),
};

const cancelTask: Method<'cancelTask'> = {
  operation: 'cancelTask',
  decode: (params) => ({ taskId: taskPath(params).id }),
  encode: (view) => taskEncoder.task(view),
};

const subscribeToTask: Method<'subscribeToTask'> = {
  operation: 'subscribeToTask',
  decode: (params) => ({ taskId: taskPath(params).id }),
  encode: streamHasNoSingleResult,
};

const createPushConfig: Method<'createPushConfig'> = {
  operation: 'createPushConfig',
  decode: decodeCreateConfig,
  encode: encodePushConfig,
};

const configIds = (params: JsonObject | undefined) => {
  const { taskId, id } = configPath(params);
  return { taskId, configId: id };
};

const getPushConfig: Method<'getPushConfig'> = {
  operation: 'getPushConfig',
  decode: configIds,
  encode: encodePushConfig,
};

const listPushConfigs: Method<'listPushConfigs'> = {
  operation: 'listPushConfigs',
  decode: (params) => {
    const { pageSize, ...rest } = configsQuery(params);
    return { ...rest, pageSize: pageSize || BOUNDS.pageSizeMax };
  },
  encode: ({ configs, nextPageToken }) => ({ configs: configs.map(encodePushConfig), nextPageToken }),
};

const deletePushConfig: Method<'deletePushConfig'> = {
  operation: 'deletePushConfig',
  decode: configIds,
  // google.protobuf.Empty
  encode: () => ({}),
};

const getCard: Method<'getExtendedCard'> = { operation: 'getExtendedCard', decode: () => ({}), encode: encodeCard };

/** The HTTP+JSON binding of A2A v0.3 (section 3.5.6), below its `/v1`. It has no list of tasks, which no SDK implemented. */
export const http = new HttpBinding(
  {
    'message:send': { POST: sendMessage },
    'message:stream': { POST: streamMessage },
    'tasks/{id}:cancel': { POST: cancelTask },
    // The proto specifies GET, the section POST.
    'tasks/{id}:subscribe': { GET: subscribeToTask, POST: subscribeToTask },
    'tasks/{id}': { GET: getTask },
    'tasks/{taskId}/pushNotificationConfigs': { GET: listPushConfigs, POST: createPushConfig },
    'tasks/{taskId}/pushNotificationConfigs/{id}': { GET: getPushConfig, DELETE: deletePushConfig },
    card: { GET: getCard },
  },
  encodeUpdate,
);
