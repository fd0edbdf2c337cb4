export type { AgentExtension, AgentProfile, AgentSkill } from './agent/agent.js';
export { backoffMs, type BackoffPolicy, retryAt, type RetryPolicy } from './backoff.js';
export { BOUNDS } from './bounds.js';
export { Clock } from './clock.js';
export {
  type ArtifactContent,
  contentProblem,
  encodedBytes,
  type EventContent,
  type Json,
  type JsonObject,
  type Message,
  type Part,
  type Role,
  textOf,
} from './content.js';
export { formatCount, pluralize } from './count.js';
export {
  DomainError,
  type DomainErrorKind,
  type FieldViolation,
  invalidField,
  invalidParameters,
  quoted,
  taskNotFound,
} from './errors.js';
export { derivedId, eventIdOf, isUuid, newId, NIL_UUID, taskIdsOf } from './ids.js';
export {
  type AddressClass,
  type MessageRequest,
  type RequestConfiguration,
  type SendRecord,
} from './message-request.js';
export { type Actor, canAccess, type Principal, SYSTEM_ACTOR } from './principal.js';
export type { Claim, Fence, Loss, PushTarget, RunOutput, TaskCommand } from './task/task.commands.js';
export { positionEvents, traceOf } from './task/task.causation.js';
export { decide } from './task/task.decide.js';
export { RUN_END_EVENTS, type TaskEvent, type TaskEventType, type UpstreamTask } from './task/task.events.js';
export { evolve, evolveAll } from './task/task.evolve.js';
export { checkFence, endsTurn, fenced } from './task/task.record-run.js';
export { EVENT_SCHEMA_VERSIONS, isKnownSchema, upcast } from './task/task.schema.js';
export {
  activeRun,
  isInterrupted,
  isQueued,
  isTerminal,
  TASK_STATUSES,
  type TaskState,
  type TaskStatus,
} from './task/task.state.js';
export { isSameWebhook, type WebhookId } from './task/webhook-id.js';
export type { TraceContext } from './trace-context.js';
export { type MissingContent, type ViewPart, visibleChunk } from './view/placeholder.js';
export { requestOfEvent } from './view/request-of-event.js';
export {
  appendChunk,
  type ConversationMessage,
  conversationOf,
  messageOfEvent,
  TaskFold,
  withUsableContext,
} from './view/task.fold.js';
export {
  type ArtifactView,
  canStillReply,
  hasOutcome,
  isClientVisible,
  type RecordedEvent,
  type TaskView,
} from './view/task.view.js';
export {
  boundView,
  countWithin,
  type SizedArtifact,
  type SizedMessage,
  type UnboundedTask,
  viewBytes,
} from './view/view-bounds.js';
