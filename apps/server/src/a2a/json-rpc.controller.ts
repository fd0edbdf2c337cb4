import { DomainError, type JsonObject } from '@app/domain';
import {
  type A2aCodec,
  encodeFailure,
  encodeResult,
  jsonRpcStatus,
  type Method,
  type Operation,
  readCall,
  type RpcCall,
  type RpcId,
  type StreamUpdate,
} from '@app/wire';
import { Controller, Logger, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { bytesOf, type EdgeRequest } from '../edge/caller.js';
import { refusalOf } from '../edge/error.filter.js';
import { codecOf, codecToRefuseIn, describeRefusal, whereMethodIs } from '../edge/surfaces.js';
import { SseStreams } from '../edge/streams/sse-streams.js';
import { A2aOperations, isStream } from './a2a-operations.js';
import { callerOf, encoded } from './a2a-caller.js';

/** A2A over JSON-RPC, each version through its own codec. */
@Controller('a2a')
export class JsonRpcController {
  private readonly logger = new Logger('json-rpc');

  constructor(
    private readonly operations: A2aOperations,
    private readonly sse: SseStreams,
  ) {}

  @Post()
  async call(@Req() request: EdgeRequest, @Res() reply: FastifyReply): Promise<void> {
    let id: RpcId = null;
    try {
      const call = readCall(bytesOf(request));
      ({ id } = call);
      if ('error' in call) throw call.error;
      await this.answer(codecOf(request), call, request, reply);
    } catch (thrown) {
      const error = refusalOf(this.logger, thrown, request);
      describeRefusal(reply, error);
      respond(reply, jsonRpcStatus(error), encodeFailure(id, codecToRefuseIn(request).rpcError(error)));
    }
  }

  private async answer(codec: A2aCodec, call: RpcCall, request: EdgeRequest, reply: FastifyReply): Promise<void> {
    const method = codec.methods.get(call.method);
    if (method === undefined) {
      const said = `A2A ${codec.version} has no method "${call.method}"; ${whereMethodIs(codec, call.method)}`;
      throw new DomainError('MethodNotFound', said, { method: call.method });
    }
    const decoded = method.decode(call.params);
    const caller = callerOf(codec, this.operations.extensionsOf, request, reply);
    if (isStream(method.operation)) {
      const stream = await this.operations.open(method.operation, decoded as never, caller);
      const encode = (update: StreamUpdate) => encodeResult(call.id, codec.encodeUpdate(update));
      const frames = (signal: AbortSignal) => encoded(stream.frames(signal), encode);
      await this.sse.send(request, reply, { task: stream.task, frames });
      return;
    }
    const result = await this.operations.perform(method.operation, decoded as never, caller);
    respond(reply, 200, encodeResult(call.id, (method as Method<Operation>).encode(result as never, decoded as never)));
  }
}

function respond(reply: FastifyReply, status: number, body: JsonObject): void {
  void reply.code(status).header('Content-Type', 'application/json').send(JSON.stringify(body));
}
