import { invalidField, type ArtifactContent, type Json, type JsonObject, type Message, type Part } from '@app/domain';
import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsString } from 'class-validator';
import { resolvePlaceholders } from '../placeholder.js';
import { isObject, ObjectReader, Violations } from '../validation/object-reader.js';
import {
  INT32_MAX,
  IsIntegerBetween,
  IsJsonObject,
  Optional,
  OptionalId,
  paramsOf,
  readParams,
  Required,
  RequiredId,
} from '../validation/params.js';
import { decodePart } from '../v1/message.codec.js';

/** Longest wait of a claim, in milliseconds: shorter than what proxies cut. */
const MAX_WAIT_MS = 30_000;
/** Each becomes an event, and all of them one append. */
const MAX_OUTPUTS = 100;

class ClaimParams {
  @Optional() @IsArray({ message: 'must be a list of agent names' }) @IsString({ each: true }) agents?: string[];
  @Optional() @IsIntegerBetween(1, 32) limit?: number;
  @Optional() @IsIntegerBetween(0, MAX_WAIT_MS) waitMs?: number;
}

class FenceParams {
  @Required() @IsIntegerBetween(1, INT32_MAX) leaseGeneration!: number;
  @Required() @IsIntegerBetween(1, INT32_MAX) dispatcherGeneration!: number;
}

class HeartbeatParams extends FenceParams {
  /** Version of the newest message that the worker has; messages after it are in the answer. */
  @Optional() @IsIntegerBetween(0, INT32_MAX) readThrough?: number;
}

class WriteParams extends HeartbeatParams {
  @Required() @IsIntegerBetween(1, INT32_MAX) seq!: number;
}

class PublishParams extends WriteParams {
  @Required()
  @IsArray({ message: 'must be a list of outputs' })
  @ArrayMaxSize(MAX_OUTPUTS, { message: `must be a list of at most ${MAX_OUTPUTS} outputs` })
  outputs!: Json[];
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
  @Required() @IsIn(['working', 'artifact'], { message: 'must be working or artifact' }) type!: 'working' | 'artifact';
  @Optional() @IsJsonObject() message?: JsonObject;
}

class ArtifactParams {
  @RequiredId() id!: string;
  @OptionalId() name?: string;
  @Optional() @IsString({ message: 'must be a string' }) description?: string;
  @Optional() @IsJsonObject() metadata?: JsonObject;
  @Optional() @IsBoolean({ message: 'must be true or false' }) append?: boolean;
  @Optional() @IsBoolean({ message: 'must be true or false' }) last?: boolean;
}

class OutcomeParams {
  @Required()
  @IsIn(OUTCOMES, { message: `must be one of ${OUTCOMES.join(', ')}` })
  type!: (typeof OUTCOMES)[number];
  @Optional() @IsJsonObject() message?: JsonObject;
}

/** What a remote worker says, before it has a message id. */
export type MessageInput = Pick<Message, 'parts' | 'metadata'>;

export type WorkerOutput =
  | { readonly type: 'working'; readonly message?: MessageInput }
  | {
      readonly type: 'artifact';
      readonly artifactId: string;
      readonly artifact: ArtifactContent;
      readonly append: boolean;
      readonly last: boolean;
    };

export interface WorkerOutcome {
  readonly type: (typeof OUTCOMES)[number];
  readonly message?: MessageInput;
}

export const decodeClaim = paramsOf(ClaimParams, 'camel');
export const decodeHeartbeat = paramsOf(HeartbeatParams, 'camel');

/** The body of a publish. Errors: InvalidParameters. */
export function decodePublish(body: JsonObject) {
  const violations = new Violations();
  const { outputs, ...write } = readParams(PublishParams, body, violations, { fieldCase: 'camel' });
  const decoded = (Array.isArray(outputs) ? outputs : []).map((output, at) =>
    decodeOutput(output, violations, `outputs[${at}]`),
  );
  violations.throwIfAny();
  return { ...write, outputs: decoded };
}

/** Returns a run as a worker receives it: a message whose content is missing has a placeholder part. */
export const encodeClaimedRun = <T extends { readonly message: Message; readonly history: readonly Message[] }>(
  run: T,
): T => ({ ...run, message: resolvePlaceholders(run.message), history: run.history.map(resolvePlaceholders) });

/** The body of a finish. Errors: InvalidParameters. */
export function decodeFinish(body: JsonObject) {
  const violations = new Violations();
  const { outcome, ...write } = readParams(FinishParams, body, violations, { fieldCase: 'camel' });
  const { type, message } = readParams(OutcomeParams, outcome, violations, { fieldCase: 'camel', path: 'outcome' });
  const said = decodeMessageInput(message, violations, 'outcome.message');
  if (said === undefined && (type === 'requireInput' || type === 'requireAuth' || type === 'reply')) {
    violations.add('outcome.message', `is required to ${type}`);
  }
  violations.throwIfAny();
  return { ...write, outcome: { type, ...(said === undefined ? {} : { message: said }) } satisfies WorkerOutcome };
}

function decodeOutput(source: Json, violations: Violations, path: string): WorkerOutput {
  const { type, message } = readParams(OutputParams, source, violations, { fieldCase: 'camel', path });
  if (type !== 'artifact') {
    const said = decodeMessageInput(message, violations, `${path}.message`);
    return { type, ...(said === undefined ? {} : { message: said }) };
  }
  const read = readParams(ArtifactParams, source, violations, { fieldCase: 'camel', path });
  const { id, append = false, last = false, ...named } = read;
  return { type, artifactId: id, append, last, artifact: { ...named, parts: decodeParts(source, violations, path) } };
}

function decodeMessageInput(source: Json | undefined, violations: Violations, path: string): MessageInput | undefined {
  if (!isObject(source)) return undefined;
  const { metadata } = source;
  const parts = decodeParts(source, violations, path);
  return { parts, ...(isObject(metadata) ? { metadata } : {}) };
}

/** Parts in the shape of A2A v1.0; never none. */
function decodeParts(source: Json, violations: Violations, path: string): Part[] {
  const parts = isObject(source) ? source['parts'] : undefined;
  if (!Array.isArray(parts) || parts.length === 0) {
    violations.add(`${path}.parts`, 'must be a list of at least one part');
    return [];
  }
  const reader = new ObjectReader(source as JsonObject, path, violations, 'camel');
  return parts.map((part, at) => decodePart(part, reader, `parts[${at}]`));
}

/** A body that must be an object. Errors: InvalidParameters. */
export function decodeObject(body: Json): JsonObject {
  if (!isObject(body)) throw invalidField('(body)', 'must be a JSON object');
  return body;
}
