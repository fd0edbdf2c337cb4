import { invalidField, type ArtifactContent, type Json, type JsonObject, type Message, type Part } from '@app/domain';
import { decodePart } from '../v1/message.codec.js';
import { readParts } from '../validation/message-reader.js';
import { isObject, ObjectReader, Violations, withValue } from '../validation/object-reader.js';
import {
  INT32_MAX,
  IsArrayOf,
  IsArrayOfStrings,
  IsBoolean,
  IsIntegerBetween,
  IsJsonObject,
  IsOneOf,
  IsString,
  Optional,
  OptionalId,
  Required,
  RequiredId,
} from '../validation/param-rules.js';
import { paramsOf, readParams } from '../validation/params.js';

/** Maximum wait of a claim in milliseconds, shorter than the idle timeout of common proxies. */
const MAX_WAIT_MS = 30_000;
/** Maximum number of runs of one claim. */
const MAX_RUNS = 32;
/** Maximum number of outputs of one publish, which appends one event for each output in one statement. */
const MAX_OUTPUTS = 100;

class ClaimParams {
  @Optional() @IsArrayOfStrings('agent names') agents?: string[];
  @Optional() @IsIntegerBetween(1, MAX_RUNS) limit?: number;
  @Optional() @IsIntegerBetween(0, MAX_WAIT_MS) waitMs?: number;
}

class FenceParams {
  @Required() @IsIntegerBetween(1, INT32_MAX) leaseGeneration!: number;
  @Required() @IsIntegerBetween(1, INT32_MAX) dispatcherGeneration!: number;
}

class HeartbeatParams extends FenceParams {
  /** Version of the newest message that the worker has. The response contains the messages after it. */
  @Optional() @IsIntegerBetween(0, INT32_MAX) readThrough?: number;
}

class WriteParams extends HeartbeatParams {
  @Required() @IsIntegerBetween(1, INT32_MAX) seq!: number;
}

class PublishParams extends WriteParams {
  @Required() @IsArrayOf('outputs', MAX_OUTPUTS) outputs!: Json[];
}

class FinishParams extends WriteParams {
  @Required() @IsJsonObject() outcome!: JsonObject;
}

const OUTCOMES = [
  'complete',
  'fail',
  'reject',
  'requireInput',
  'requireAuth',
  'reply',
  'canceled',
  'retry',
  'release',
] as const;

class OutputParams {
  @Required() @IsOneOf(['working', 'artifact']) type!: 'working' | 'artifact';
  @Optional() @IsJsonObject() message?: JsonObject;
}

class ArtifactParams {
  @RequiredId() id!: string;
  @OptionalId() name?: string;
  @Optional() @IsString() description?: string;
  @Optional() @IsJsonObject() metadata?: JsonObject;
  @Optional() @IsBoolean() append?: boolean;
  @Optional() @IsBoolean() last?: boolean;
}

class OutcomeParams {
  @Required() @IsOneOf(OUTCOMES) type!: (typeof OUTCOMES)[number];
  @Optional() @IsJsonObject() message?: JsonObject;
}

/** A message from a worker, which has no id yet. */
type MessageInput = Pick<Message, 'parts' | 'metadata'>;

type WorkerOutput =
  | { readonly type: 'working'; readonly message?: MessageInput }
  | {
      readonly type: 'artifact';
      readonly artifactId: string;
      readonly artifact: ArtifactContent;
      readonly append: boolean;
      readonly last: boolean;
    };

interface WorkerOutcome {
  readonly type: (typeof OUTCOMES)[number];
  readonly message?: MessageInput;
}

/** Decodes the body of a claim. Errors: InvalidParameters. */
export const decodeClaim = paramsOf(ClaimParams, 'camel');
/** Decodes the body of a heartbeat. Errors: InvalidParameters. */
export const decodeHeartbeat = paramsOf(HeartbeatParams, 'camel');

/** Decodes the body of a publish. Errors: InvalidParameters. */
export function decodePublish(body: JsonObject) {
  const violations = new Violations();
  const { outputs, ...write } = readParams(PublishParams, body, violations, { fieldCase: 'camel' });
  const decoded = (Array.isArray(outputs) ? outputs : []).map((output, index) =>
    decodeOutput(output, violations, `outputs[${index}]`),
  );
  violations.throwIfAny();
  return { ...write, outputs: decoded };
}

/** Decodes the body of a finish. Errors: InvalidParameters. */
export function decodeFinish(body: JsonObject) {
  const violations = new Violations();
  const { outcome, ...write } = readParams(FinishParams, body, violations, { fieldCase: 'camel' });
  const { type, message } = readParams(OutcomeParams, outcome, violations, { fieldCase: 'camel', path: 'outcome' });
  const input = decodeMessageInput(message, violations, 'outcome.message');
  if (input === undefined && (type === 'requireInput' || type === 'requireAuth' || type === 'reply')) {
    violations.add('outcome.message', `is required if outcome.type is ${type}`);
  }
  violations.throwIfAny();
  return { ...write, outcome: { type, ...(input === undefined ? {} : { message: input }) } satisfies WorkerOutcome };
}

function decodeOutput(source: Json, violations: Violations, path: string): WorkerOutput {
  const { type, message } = readParams(OutputParams, source, violations, { fieldCase: 'camel', path });
  if (type !== 'artifact') {
    const input = decodeMessageInput(message, violations, `${path}.message`);
    return { type, ...(input === undefined ? {} : { message: input }) };
  }
  const read = readParams(ArtifactParams, source, violations, { fieldCase: 'camel', path });
  const { id, append = false, last = false, ...fields } = read;
  const parts = isObject(source) ? decodeParts(source, violations, path) : [];
  return { type, artifactId: id, append, last, artifact: { ...fields, parts } };
}

function decodeMessageInput(source: Json | undefined, violations: Violations, path: string): MessageInput | undefined {
  if (!isObject(source)) return undefined;
  const { metadata } = source;
  const parts = decodeParts(source, violations, path);
  return { parts, ...(isObject(metadata) ? { metadata } : {}) };
}

/** Decodes parts, which have the shape of A2A v1.0. */
const decodeParts = (source: JsonObject, violations: Violations, path: string): Part[] =>
  readParts(new ObjectReader(source, path, violations, 'camel'), { decodePart });

/** Checks that a body is an object. Errors: InvalidParameters. */
export function decodeObject(body: Json): JsonObject {
  if (!isObject(body)) throw invalidField('(body)', withValue('must be a JSON object', body));
  return body;
}
