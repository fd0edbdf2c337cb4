import { BOUNDS } from './bounds.js';
import { contentProblem } from './content.js';
import { DomainError } from './errors.js';
import { isPrintableId } from './ids.js';
import type { RunOutput } from './task/task.commands.js';

/** What an agent may say, before it is recorded: what no client could be shown is InvalidAgentResponse. */
export function validateRunOutput(output: RunOutput, taskId: string): void {
  const breaks = (what: string) =>
    new DomainError('InvalidAgentResponse', `invalid agent response: ${what}`, { taskId });
  if (output.type === 'artifact' && !isPrintableId(output.artifactId)) {
    throw breaks(`an artifact id must have 1 to ${BOUNDS.idLength} printable characters`);
  }
  const { upstream } = output.type === 'status' ? output : {};
  if (upstream !== undefined && !Object.values(upstream).every(isPrintableId)) {
    throw breaks(`ids of an upstream task must have 1 to ${BOUNDS.idLength} printable characters`);
  }
  switch (contentProblem(contentOf(output))) {
    case 'malformed':
      throw breaks(`${output.type}: there must be parts, each with exactly one of text, raw, url and data`);
    case 'too-deep':
      throw breaks(`${output.type}: JSON may be nested at most ${BOUNDS.jsonDepth} levels deep`);
    case null:
  }
}

function contentOf(output: RunOutput): object {
  if (output.type === 'artifact') return { artifact: output.artifact };
  return 'message' in output && output.message !== undefined ? { message: output.message } : {};
}
