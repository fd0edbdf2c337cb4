import type { TaskEventFacts, TaskEventType } from './task.events.js';

/**
 * The schema version of new events of each type. A change of the facts of a type increments its version and adds an upcaster.
 * A type keeps its meaning in all versions.
 */
export const EVENT_SCHEMA_VERSIONS: Readonly<Record<TaskEventType, number>> = {
  TaskSubmitted: 1,
  MessageAccepted: 1,
  RunStarted: 1,
  StatusReported: 1,
  ArtifactPublished: 1,
  InputRequested: 1,
  AuthorizationRequested: 1,
  TaskResumed: 1,
  ReplySent: 1,
  TaskCompleted: 1,
  TaskFailed: 1,
  TaskRejected: 1,
  CancelRequested: 1,
  TaskCanceled: 1,
  RunLost: 1,
  RunRetried: 1,
  PushConfigSet: 1,
  PushConfigDeleted: 1,
};

/** Returns the facts of one version in the form of the next version. */
type Upcaster = (facts: object) => object;

/** The upcasters of each type: the first one takes the facts of version 1. */
export type Upcasters = { readonly [T in TaskEventType]?: readonly Upcaster[] };

const UPCASTERS: Upcasters = {};

/** Returns whether this version of Acta knows the facts of a type in a version. */
export const isKnownSchema = (type: string, version: number): boolean =>
  Object.hasOwn(EVENT_SCHEMA_VERSIONS, type) && version <= EVENT_SCHEMA_VERSIONS[type as TaskEventType];

/** Returns the facts of a stored event in the form of the current version. The stored text, which the hash covers, remains. */
export function upcast<T extends TaskEventType>(
  type: T,
  version: number,
  facts: object,
  upcasters: Upcasters = UPCASTERS,
): TaskEventFacts[T] {
  const remaining = (upcasters[type] ?? []).slice(version - 1);
  return remaining.reduce((current, next) => next(current), facts) as TaskEventFacts[T];
}
