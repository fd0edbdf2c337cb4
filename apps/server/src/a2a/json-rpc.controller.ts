import type { Json } from '@app/domain';
import { encodeResult, readCall, type RpcCall } from '@app/wire';
import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { EdgeRequest } from '../edge/callers/edge-request.js';
import { codecOf, rpcMethodOf } from '../edge/http/codecs.js';
import { sendJson } from '../edge/http/json-response.js';
import { bodyOf } from '../edge/http/request-body.js';
import { Surface } from '../edge/routes/route-config.js';
import { SseStreams } from '../edge/streams/sse-streams.js';
import { callerOf, encodeStream } from './a2a-caller.js';
import { A2aOperations } from './a2a-operations.js';

/** A2A over JSON-RPC. The error filter encodes what is thrown, with the id of the call. */
@Surface('a2a-json-rpc')
@Controller('a2a')
export class JsonRpcController {
  constructor(
    private readonly operations: A2aOperations,
    private readonly sse: SseStreams,
  ) {}

  @Post()
  async call(@Req() request: EdgeRequest, @Res() reply: FastifyReply): Promise<void> {
    const call = readRpcCall(request);
    const codec = codecOf(request);
    const method = rpcMethodOf(codec, call.method);
    const params = method.decode(call.params);
    const caller = callerOf(codec, this.operations.extensionsOf, request, reply);
    const { result, stream } = await this.operations.execute(method, params, caller);
    const encode = (json: Json) => encodeResult(call.id, json);
    if (stream === undefined) sendJson(request, reply, encode(result));
    else
      await this.sse.send(
        request,
        reply,
        encodeStream(stream, (update) => encode(codec.encodeUpdate(update))),
      );
  }
}

/** Returns the call in the body, and keeps its id and method for an error response. Errors: ParseError, InvalidRequest. */
function readRpcCall(request: EdgeRequest): RpcCall {
  const call = readCall(bodyOf(request));
  request.rpcId = call.id;
  if ('error' in call) throw call.error;
  request.rpcMethod = call.method;
  return call;
}
