import {
  textOf,
  type ArtifactView,
  type Json,
  type JsonObject,
  type Part,
  type TaskStatus,
  type TaskView,
  type ViewPart,
} from '@app/domain';
import { resolvePlaceholder } from '../task/placeholder.js';
import type { SendRequest } from '../requests.js';
import { isObject, Violations, withValue } from '../validation/object-reader.js';

/** The statuses that existing clients know. */
const STATUS: Record<TaskStatus, string> = {
  submitted: 'pending',
  working: 'running',
  'input-required': 'running',
  'auth-required': 'running',
  completed: 'completed',
  replied: 'completed',
  failed: 'failed',
  rejected: 'failed',
  canceled: 'cancelled',
};

/**
 * Decodes `{input, metadata?}` as a send that does not wait. A string becomes a text part; any other value, including null, becomes
 * a data part. `messageId` is the Idempotency-Key of the caller or a new id. Errors: InvalidParameters.
 */
export function decodeCreateTask(body: Json, messageId: string): SendRequest {
  const violations = new Violations();
  if (!isObject(body)) violations.add('(body)', withValue('must be an object', body));
  const { input, metadata } = isObject(body) ? body : {};
  if (isObject(body) && input === undefined) violations.add('input', 'is required');
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) {
    violations.add('metadata', withValue('must be an object', metadata));
  }
  violations.throwIfAny();
  const part: Part = typeof input === 'string' ? { text: input } : { data: input };
  const optional = isObject(metadata) && Object.keys(metadata).length > 0 ? { metadata } : {};
  return {
    message: { messageId, role: 'user', parts: [part], ...optional },
    configuration: { returnImmediately: true },
    // It is the metadata of the request, and has been that of the message since the first version of this API.
    ...optional,
  };
}

/**
 * Encodes a task as `{id, status, input, output?, error?, metadata?, created_at, updated_at}`. `input` and `metadata` are those of the
 * first message. `error` is the reason of a failure or a rejection.
 */
export function encodeTask(view: TaskView): JsonObject {
  const { taskId, state, history, statusMessage } = view;
  const first = history.find((message) => message.role === 'user');
  const output = outputOf(view);
  const failed = state.status === 'failed' || state.status === 'rejected';
  const reason = statusMessage === undefined ? '' : textOf(statusMessage);
  return {
    id: taskId,
    status: STATUS[state.status],
    input: first === undefined ? null : valueOf(first.parts),
    ...(output === undefined ? {} : { output }),
    ...(failed ? { error: reason || `the task ${state.status === 'failed' ? 'failed' : 'was rejected'}` } : {}),
    ...(first?.metadata === undefined ? {} : { metadata: first.metadata }),
    created_at: state.createdAt,
    updated_at: state.statusAt,
  };
}

/** Returns the value of the artifact, a list of the values of several artifacts, or the value of the completion message. */
function outputOf({ artifacts, state, statusMessage }: TaskView): Json | undefined {
  if (artifacts.length === 1) return valueOf(artifacts[0]!.parts);
  if (artifacts.length > 1) return artifacts.map((artifact: ArtifactView) => valueOf(artifact.parts));
  const isCompleted = state.status === 'completed' || state.status === 'replied';
  return isCompleted && statusMessage !== undefined ? valueOf(statusMessage.parts) : undefined;
}

/** Returns parts as one plain value: a single part as its value, texts joined to one string, mixed parts as a list. */
function valueOf(parts: readonly ViewPart[]): Json {
  if (parts.length === 1) return partValue(parts[0]!);
  if (parts.every(({ text }) => text !== undefined)) return textOf({ parts: [...parts] });
  return parts.map(partValue);
}

/** Returns a text as a string, data unchanged, and a file as `{raw | url, filename?, mediaType?}`. */
function partValue(part: ViewPart): Json {
  const { text, data, raw, url, filename, mediaType } = resolvePlaceholder(part);
  if (text !== undefined) return text;
  if (data !== undefined) return data;
  return {
    ...(raw === undefined ? { url: url ?? '' } : { raw }),
    ...(filename === undefined ? {} : { filename }),
    ...(mediaType === undefined ? {} : { mediaType }),
  };
}
