import { BOUNDS } from '../bounds.js';
import { contentProblem } from '../content.js';
import { DomainError } from '../errors.js';
import { isPrintableId } from '../ids.js';
import type { RunOutput } from '../task/task.commands.js';

/** Checks the output of an agent before it is recorded. Throws InvalidAgentResponse for output that no client could receive. */
export function validateRunOutput(output: RunOutput, taskId: string): void {
  const invalid = (problem: string) =>
    new DomainError('InvalidAgentResponse', `invalid agent response: ${problem}`, { taskId });
  if (output.type === 'artifact' && !isPrintableId(output.artifactId)) {
    throw invalid(`an artifact id must have 1 to ${BOUNDS.idLength} printable characters`);
  }
  const { upstream } = output.type === 'status' ? output : {};
  if (upstream !== undefined && !Object.values(upstream).every(isPrintableId)) {
    throw invalid(`ids of an upstream task must have 1 to ${BOUNDS.idLength} printable characters`);
  }
  switch (contentProblem(contentOf(output))) {
    case 'malformed':
      throw invalid(`${output.type}: at least one part is required, each with exactly one of text, raw, url and data`);
    case 'too-deep':
      throw invalid(`${output.type}: JSON may have at most ${BOUNDS.jsonDepth} levels`);
    case null:
  }
}

function contentOf(output: RunOutput): object {
  if (output.type === 'artifact') return { artifact: output.artifact };
  return 'message' in output && output.message !== undefined ? { message: output.message } : {};
}
