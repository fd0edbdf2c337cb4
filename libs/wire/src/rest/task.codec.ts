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
import { resolvePlaceholder } from '../placeholder.js';
import { isObject, Violations } from '../validation/object-reader.js';
import type { SendRequest } from '../requests.js';

/** A pure function of the state, as existing clients know it. */
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
 * `{input, metadata?}` as a send that does not wait. A string becomes a text part and anything else, null included, a data part.
 * `messageId` is the caller's Idempotency-Key or a new id. Throws InvalidParameters.
 */
export function decodeCreateTask(body: Json, messageId: string): SendRequest {
  const violations = new Violations();
  if (!isObject(body)) violations.add('(body)', 'must be an object');
  const { input, metadata } = isObject(body) ? body : {};
  if (isObject(body) && input === undefined) violations.add('input', 'is required');
  if (metadata !== undefined && metadata !== null && !isObject(metadata))
    violations.add('metadata', 'must be an object');
  violations.throwIfAny();
  const part: Part = typeof input === 'string' ? { text: input } : { data: input };
  const said = isObject(metadata) && Object.keys(metadata).length > 0 ? { metadata } : {};
  return {
    message: { messageId, role: 'user', parts: [part], ...said },
    configuration: { returnImmediately: true },
  };
}

/**
 * A task as the simple REST shows it: `id, status, input, output?, error?, metadata?, created_at, updated_at`. `input` and `metadata` are those of
 * the first message; `output` is what `outputOf` says; `error` is why a task failed or was rejected.
 */
export function encodeTask(view: TaskView): JsonObject {
  const { taskId, state, history, statusMessage } = view;
  const first = history.find((message) => message.role === 'user');
  const output = outputOf(view);
  const failed = state.status === 'failed' || state.status === 'rejected';
  const why = statusMessage === undefined ? '' : textOf(statusMessage);
  return {
    id: taskId,
    status: STATUS[state.status],
    input: first === undefined ? null : valueOf(first.parts),
    ...(output === undefined ? {} : { output }),
    ...(failed ? { error: why || `the task ${state.status === 'failed' ? 'failed' : 'was rejected'}` } : {}),
    ...(first?.metadata === undefined ? {} : { metadata: first.metadata }),
    created_at: state.createdAt,
    updated_at: state.statusAt,
  };
}

/** What the task gave so far: its artifact, or a list of several; without one, what it said when it completed. */
function outputOf({ artifacts, state, statusMessage }: TaskView): Json | undefined {
  if (artifacts.length === 1) return valueOf(artifacts[0]!.parts);
  if (artifacts.length > 1) return artifacts.map((artifact: ArtifactView) => valueOf(artifact.parts));
  const said = state.status === 'completed' || state.status === 'replied' ? statusMessage : undefined;
  return said === undefined ? undefined : valueOf(said.parts);
}

/** Parts as one plain value: a single part as itself, text alone as one string, anything else as a list. */
function valueOf(parts: readonly ViewPart[]): Json {
  if (parts.length === 1) return partValue(parts[0]!);
  if (parts.every(({ text }) => text !== undefined)) return textOf({ parts: [...parts] });
  return parts.map(partValue);
}

/** Text as a string, data as it is, a file as its part: `{raw | url, filename?, mediaType?}`. */
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
