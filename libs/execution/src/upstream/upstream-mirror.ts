import { createHash } from 'node:crypto';
import { type ArtifactView, DomainError, isInterrupted, isTerminal, type Message } from '@app/domain';
import type { UpstreamStatus, UpstreamTaskSnapshot, UpstreamUpdate } from '@app/client';
import type { AgentContext, Saying } from '../agents/agent.contract.js';

/** What the upstream agent's turn came to. */
export type UpstreamOutcome = UpstreamStatus | { readonly state: 'replied'; readonly message: Message };

/** Records what happens to an upstream task, as what happens to the task here. */
export class UpstreamMirror {
  /** Seen, though not recorded yet. */
  outcome: UpstreamOutcome | null = null;
  /** Counts what was news. */
  news = 0;
  private readonly published = new Map<string, ArtifactDigest>();
  private before = new Map<string, ArtifactView>();
  private lastStatus = '';

  constructor(private readonly ctx: AgentContext) {}

  /** Artifacts of earlier turns: chunks of this turn may go on them. */
  knows(artifacts: readonly ArtifactView[]): void {
    this.before = new Map(artifacts.map((artifact) => [artifact.artifactId, artifact]));
  }

  /** A task as a whole: what it has that was not published by this run is published, and replaces what differs. */
  async task({ artifacts, status }: UpstreamTaskSnapshot): Promise<void> {
    await this.artifacts(artifacts, isTerminal(status.state));
    await this.status(status);
  }

  async artifacts(artifacts: readonly ArtifactView[], last: boolean): Promise<void> {
    for (const artifact of artifacts) {
      const known = this.published.get(artifact.artifactId)?.value;
      if (known !== new ArtifactDigest().add(artifact).value) await this.publish(artifact, false, last);
    }
  }

  async chunk({ artifact, append, last }: Extract<UpstreamUpdate, { type: 'artifact' }>): Promise<void> {
    const { artifactId } = artifact;
    if (append && !this.published.has(artifactId)) {
      const started = this.before.get(artifactId);
      if (started === undefined) {
        throw new DomainError(
          'InvalidAgentResponse',
          `invalid agent response: a chunk for artifact "${artifactId}", which was never started`,
          { taskId: this.ctx.task.id },
        );
      }
      await this.publish(started, false, false);
    }
    await this.publish(artifact, append, last);
  }

  async status(status: UpstreamStatus): Promise<void> {
    const { state, message, timestamp } = status;
    const key = JSON.stringify([state, timestamp, message?.messageId]);
    if (key === this.lastStatus) return;
    this.lastStatus = key;
    this.news += 1;
    if (isTerminal(state) || isInterrupted(state)) this.outcome = status;
    else if (state !== 'submitted' || message !== undefined) await this.ctx.working(message && sayingOf(message));
  }

  /** The outcome has been overtaken: whatever the task says next is news. */
  forget(): void {
    this.outcome = null;
    this.lastStatus = '';
  }

  /** Writes the outcome. */
  async conclude(): Promise<void> {
    const { state, message } = this.outcome!;
    const said = message && sayingOf(message);
    switch (state) {
      case 'replied':
        return this.ctx.reply(said!);
      case 'input-required':
        return this.ctx.requireInput(said ?? 'The agent asks for input.');
      case 'auth-required':
        return this.ctx.requireAuth(said ?? 'The agent asks for an authorization.');
      case 'completed':
        return this.ctx.complete(said);
      case 'failed':
        return this.ctx.fail(said ?? 'the upstream agent failed without saying why');
      case 'rejected':
        return this.ctx.reject(said ?? 'the upstream agent rejected the task without saying why');
      case 'canceled':
        return this.ctx.cancel(said);
      case 'submitted':
      case 'working':
        throw new Error(`${state} is no outcome`);
    }
  }

  private async publish({ artifactId, ...content }: ArtifactView, append: boolean, last: boolean): Promise<void> {
    const digest = (append && this.published.get(artifactId)) || new ArtifactDigest();
    this.published.set(artifactId, digest.add({ artifactId, ...content }));
    this.news += 1;
    await this.ctx.artifact({ id: artifactId, ...content, append, last });
  }
}

/** Ids of messages are their sender's, and one message may come with several statuses: what is recorded has ids of its own. */
export const sayingOf = ({ parts, metadata, extensions }: Message): Saying => ({
  parts,
  ...(metadata === undefined ? {} : { metadata }),
  ...(extensions === undefined ? {} : { extensions }),
});

/** What an artifact says, however it was cut into chunks: so that a snapshot which holds no news adds nothing to the record. */
class ArtifactDigest {
  private readonly hash = createHash('sha256');
  private named: Partial<ArtifactView> = {};
  private inText = false;

  add({ parts, ...named }: ArtifactView): this {
    this.named = { ...this.named, ...named };
    for (const part of parts) {
      const isText = part.text !== undefined && Object.keys(part).length === 1;
      if (isText && this.inText) this.hash.update(part.text!);
      else this.hash.update(isText ? `\0text:${part.text!}` : `\0part:${JSON.stringify(part)}`);
      this.inText = isText;
    }
    return this;
  }

  get value(): string {
    const { name, description, metadata, extensions } = this.named;
    return `${this.hash.copy().digest('hex')} ${JSON.stringify([name, description, metadata, extensions])}`;
  }
}
