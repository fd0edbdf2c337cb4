import { isTerminal, type Principal, type TaskView } from '@app/domain';
import { SubscribeToTask } from '@app/streaming';
import { GetTask, TaskReader } from '@app/tasks';
import { rest, type SseFrame } from '@app/wire';
import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { SseSource } from '../edge/streams/sse-streams.js';

/** The simple REST's stream: the whole task on each change, until it ends. */
@Injectable()
export class RestStreams {
  constructor(
    private readonly queries: QueryBus,
    private readonly reader: TaskReader,
  ) {}

  /** An ended task is one frame. Errors: TaskNotFound, InvalidParameters. */
  async open(
    principal: Principal,
    taskId: string,
    { lastEventId, ...door }: { readonly lastEventId?: string; readonly agent?: string },
  ): Promise<SseSource> {
    const view = await this.queries.execute(new GetTask(principal, taskId, door));
    if (isTerminal(view.state.status) && lastEventId === undefined) return ended(view);
    const stream = await this.queries.execute(
      new SubscribeToTask(principal, taskId, {
        ...door,
        until: 'end',
        ...(lastEventId === undefined ? {} : { lastEventId }),
      }),
    );
    const { reader } = this;
    return {
      task: stream.task,
      async *frames(signal) {
        let shown = 0;
        for await (const { id, update } of stream.frames(signal)) {
          // What happened while a frame was written is in the snapshot already.
          if (id <= shown) continue;
          const current = update.type === 'task' ? update.view : await reader.view(principal.tenantId, taskId, WHOLE);
          if (current === null) return;
          shown = current.state.version;
          yield frameOf(current);
        }
      },
    };
  }
}

const WHOLE = { artifacts: true } as const;

const frameOf = (view: TaskView): SseFrame => ({
  id: view.state.version,
  data: JSON.stringify(rest.encodeTask(view)),
});

function ended(view: TaskView): SseSource {
  return {
    task: { taskId: view.taskId, tenantId: view.tenantId, owner: view.state.owner, ring: view.state.ring },
    async *frames() {
      yield frameOf(view);
    },
  };
}
