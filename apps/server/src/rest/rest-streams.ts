import { isTerminal, type TaskView } from '@app/domain';
import { followTask } from '@app/delivery';
import { EventLog, TaskWakeups } from '@app/storage';
import { TaskReader } from '@app/tasks';
import { rest, sseComment, sseFrame } from '@app/wire';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

const HEARTBEAT_MS = 15_000;

/** The simple REST's stream: the whole task on each change, until it ends. */
@Injectable()
export class RestStreams implements OnModuleDestroy {
  private readonly draining = new AbortController();

  constructor(
    private readonly log: EventLog,
    private readonly wakeups: TaskWakeups,
    private readonly reader: TaskReader,
  ) {}

  async send(reply: FastifyReply, first: TaskView, client: AbortSignal): Promise<void> {
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
    const heartbeat = setInterval(() => raw.write(sseComment('still here')), HEARTBEAT_MS);
    const signal = AbortSignal.any([client, this.draining.signal]);
    try {
      for await (const view of this.snapshots(first, signal)) {
        const frame = sseFrame({ id: view.state.version, data: JSON.stringify(rest.encodeTask(view)) });
        if (!raw.write(frame)) await drained(raw, signal);
        if (isTerminal(view.state.status)) break;
      }
    } finally {
      clearInterval(heartbeat);
      raw.end();
    }
  }

  onModuleDestroy(): void {
    this.draining.abort();
  }

  private async *snapshots(first: TaskView, signal: AbortSignal): AsyncGenerator<TaskView> {
    yield first;
    if (isTerminal(first.state.status)) return;
    const { tenantId, taskId } = first;
    let { version } = first.state;
    for await (const events of followTask(
      { log: this.log, wakeups: this.wakeups },
      { tenantId, taskId, after: version },
      signal,
    )) {
      if (events.at(-1)!.version <= version) continue;
      const view = await this.reader.view(tenantId, taskId, { artifacts: true });
      if (view === null) return;
      ({ version } = view.state);
      yield view;
    }
  }
}

function drained(raw: FastifyReply['raw'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    raw.once('drain', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
