import { type Principal, taskNotFound, type TaskView, type TraceContext } from '@app/domain';
import { SubscribeToTask } from '@app/streaming';
import { CancelTask, SendMessage, TaskReader } from '@app/tasks';
import { rest, type SendRequest, type SseFrame } from '@app/wire';
import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { AgentScope } from '../edge/callers/agent-scope.js';
import type { Client } from '../edge/callers/client.js';
import type { SseSource } from '../edge/streams/sse-streams.js';

/** The operations of the simple REST that are not one command or one query. */
@Injectable()
export class RestTasks {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly reader: TaskReader,
  ) {}

  /** Creates a task, and returns it without waiting for its outcome. Errors: those of SendMessage. */
  async create(
    principal: Principal,
    { message, configuration, metadata }: SendRequest,
    { client, ...options }: AgentScope & { readonly client: Client; readonly trace?: TraceContext },
  ): Promise<TaskView> {
    const request = { configuration, metadata, ...client };
    const send = { message, request, acknowledged: true, ...options };
    const { taskId, follower } = await this.commands.execute(new SendMessage(principal, send));
    try {
      const view = await follower.view();
      if (view === null) throw taskNotFound(taskId);
      return view;
    } finally {
      follower.close();
    }
  }

  /** Cancels a task. A task that has ended is returned unchanged. Errors: TaskNotFound, TaskNotCancelable. */
  cancel(
    principal: Principal,
    taskId: string,
    options: AgentScope & { readonly trace?: TraceContext },
  ): Promise<TaskView> {
    return this.commands.execute(new CancelTask(principal, taskId, { ...options, ended: 'return' }));
  }

  /**
   * Opens the stream of a task: one frame with the complete task for each change, until it ends. The stream of a task that has
   * ended is one frame. Errors: TaskNotFound, InvalidParameters.
   */
  async openStream(
    principal: Principal,
    taskId: string,
    { lastEventId, ...scope }: AgentScope & { readonly lastEventId?: string },
  ): Promise<SseSource> {
    const options = { ...scope, until: 'end', lastEventId, ended: 'snapshot' } as const;
    const stream = await this.queries.execute(new SubscribeToTask(principal, taskId, options));
    const { reader } = this;
    return {
      task: stream.task,
      async *frames(signal) {
        let sent = 0;
        for await (const { id, update } of stream.frames(signal)) {
          // The last frame may already include this change.
          if (id <= sent) continue;
          const current =
            update.type === 'task' ? update.view : await reader.view(principal.tenantId, taskId, { artifacts: true });
          if (current === null) return;
          sent = current.state.version;
          yield frameOf(current);
        }
      },
    };
  }
}

const frameOf = (view: TaskView): SseFrame => ({
  id: view.state.version,
  data: JSON.stringify(rest.encodeTask(view)),
});
