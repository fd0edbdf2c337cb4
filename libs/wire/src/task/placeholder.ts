import type { Part, TaskView, ViewPart } from '@app/domain';

/**
 * Returns a part as clients receive it. A placeholder becomes a data part with the reason, the path of the content in the native
 * API, and the number of parts if it is known.
 */
export function resolvePlaceholder(part: ViewPart): Part {
  if (part.placeholder === undefined) return part;
  const { reason, taskId, artifactId, parts } = part.placeholder;
  const task = `/api/tasks/${encodeURIComponent(taskId)}`;
  const path =
    artifactId === undefined ? `${task}/messages` : `${task}/deliveries/${encodeURIComponent(artifactId)}/parts`;
  return {
    data: parts === undefined ? { reason, path } : { reason, path, parts },
    metadata: { 'acta/placeholder': true },
  };
}

/** Returns a message or an artifact with its parts as clients receive them. */
export const resolvePlaceholders = <T extends { readonly parts: readonly ViewPart[] }>(piece: T): T => ({
  ...piece,
  parts: piece.parts.map(resolvePlaceholder),
});

/** Returns a view with all parts as clients receive them. */
export function resolveView({ statusMessage, history, artifacts, ...view }: TaskView): TaskView {
  return {
    ...view,
    ...(statusMessage === undefined ? {} : { statusMessage: resolvePlaceholders(statusMessage) }),
    history: history.map(resolvePlaceholders),
    artifacts: artifacts.map(resolvePlaceholders),
  };
}
