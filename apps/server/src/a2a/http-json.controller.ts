import type { Method, Operation } from '@app/wire';
import { All, Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { bytesOf, type EdgeRequest } from '../edge/caller.js';
import { SseStreams } from '../edge/streams/sse-streams.js';
import { answerTypeOf, codecOf, httpRouteOf } from '../edge/surfaces.js';
import { callerOf, encoded } from './a2a-caller.js';
import { A2aOperations, isStream } from './a2a-operations.js';

/** A2A over HTTP+JSON. Which paths there are, and what they mean, is up to the codec of the version. */
@Controller('a2a/v1')
export class HttpJsonController {
  constructor(
    private readonly operations: A2aOperations,
    private readonly sse: SseStreams,
  ) {}

  @All('*')
  async serve(@Req() request: EdgeRequest, @Res() reply: FastifyReply): Promise<void> {
    const codec = codecOf(request);
    const { method, decode } = httpRouteOf(codec, request);
    const decoded = decode(request.query as Record<string, string | string[]>, bytesOf(request));
    const caller = callerOf(codec, this.operations.extensionsOf, request, reply);
    if (isStream(method.operation)) {
      const stream = await this.operations.open(method.operation, decoded as never, caller);
      const frames = (signal: AbortSignal) => encoded(stream.frames(signal), codec.http.encodeUpdate);
      await this.sse.send(request, reply, { task: stream.task, frames });
      return;
    }
    const result = await this.operations.perform(method.operation, decoded as never, caller);
    const body = (method as Method<Operation>).encode(result as never, decoded as never);
    void reply.code(200).header('Content-Type', answerTypeOf(request)).send(JSON.stringify(body));
  }
}
