import { type ArtifactView, DomainError, isInterrupted, isTerminal, type Message } from '@app/domain';
import type { UpstreamStatus, UpstreamTaskSnapshot, UpstreamUpdate } from '@app/client';
import type { AgentContext, MessageInput } from '../agents/agent.contract.js';
import { ArtifactDigest } from './artifact-digest.js';

/** The outcome of the upstream agent's turn. */
export type UpstreamOutcome = UpstreamStatus | { readonly state: 'replied'; readonly message: Message };

/** Records the updates of an upstream task as outputs of the run. */
export class UpstreamRecorder {
  /** Received, but not recorded yet. */
  outcome: UpstreamOutcome | null = null;
  /** Number of updates that changed something. */
  changeCount = 0;
  private readonly published = new Map<string, ArtifactDigest>();
  private baseline = new Map<string, ArtifactView>();
  private lastStatus = '';

  constructor(private readonly ctx: AgentContext) {}

  /** Sets the artifacts of earlier turns, to which this turn may append chunks. */
  setBaseline(artifacts: readonly ArtifactView[]): void {
    this.baseline = new Map(artifacts.map((artifact) => [artifact.artifactId, artifact]));
  }

  /** Records a snapshot of the task. Artifacts that differ from what this run has published are replaced. */
  async task({ artifacts, status }: UpstreamTaskSnapshot): Promise<void> {
    await this.artifacts(artifacts, isTerminal(status.state));
    await this.status(status);
  }

  async artifacts(artifacts: readonly ArtifactView[], last: boolean): Promise<void> {
    for (const artifact of artifacts) {
      const published = this.published.get(artifact.artifactId)?.value;
      if (published !== new ArtifactDigest().add(artifact).value) await this.publish(artifact, false, last);
    }
  }

  async chunk({ artifact, append, last }: Extract<UpstreamUpdate, { type: 'artifact' }>): Promise<void> {
    const { artifactId } = artifact;
    if (append && !this.published.has(artifactId)) {
      const earlier = this.baseline.get(artifactId);
      if (earlier === undefined) {
        throw new DomainError(
          'InvalidAgentResponse',
          `invalid agent response: a chunk for artifact "${artifactId}", which was never started`,
          { taskId: this.ctx.task.id },
        );
      }
      await this.publish(earlier, false, false);
    }
    await this.publish(artifact, append, last);
  }

  async status(status: UpstreamStatus): Promise<void> {
    const { state, message, timestamp } = status;
    const key = JSON.stringify([state, timestamp, message?.messageId]);
    if (key === this.lastStatus) return;
    this.lastStatus = key;
    this.changeCount += 1;
    if (isTerminal(state) || isInterrupted(state)) this.outcome = status;
    else if (state !== 'submitted' || message !== undefined) {
      await this.ctx.working(message && toMessageInput(message));
    }
  }

  /** Discards the outcome, because a later message continues the upstream task. The next status counts as a change. */
  discardOutcome(): void {
    this.outcome = null;
    this.lastStatus = '';
  }

  /** Records the outcome. */
  async recordOutcome(): Promise<void> {
    const { state, message } = this.outcome!;
    const input = message && toMessageInput(message);
    switch (state) {
      case 'replied':
        return this.ctx.reply(input!);
      case 'input-required':
        return this.ctx.requireInput(input ?? 'The upstream agent requires input.');
      case 'auth-required':
        return this.ctx.requireAuth(input ?? 'The upstream agent requires authorization.');
      case 'completed':
        return this.ctx.complete(input);
      case 'failed':
        return this.ctx.fail(input ?? 'the upstream agent failed without a message');
      case 'rejected':
        return this.ctx.reject(input ?? 'the upstream agent rejected the task without a message');
      case 'canceled':
        return this.ctx.cancel(input);
      case 'submitted':
      case 'working':
        throw new Error(`upstream status "${state}" is not an outcome`);
      default:
        state satisfies never;
    }
  }

  private async publish({ artifactId, ...content }: ArtifactView, append: boolean, last: boolean): Promise<void> {
    const digest = (append && this.published.get(artifactId)) || new ArtifactDigest();
    this.published.set(artifactId, digest.add({ artifactId, ...content }));
    this.changeCount += 1;
    await this.ctx.artifact({ id: artifactId, ...content, append, last });
  }
}

/** Drops the message id. It is the sender's, and one message may come with several statuses, so the run assigns its own ids. */
const toMessageInput = ({ parts, metadata, extensions }: Message): MessageInput => ({
  parts,
  ...(metadata === undefined ? {} : { metadata }),
  ...(extensions === undefined ? {} : { extensions }),
});
