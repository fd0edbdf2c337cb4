import { DomainError, type Json, type JsonObject } from '@app/domain';
import {
  type A2aCodec,
  asDomainError,
  encodeFailure,
  encodeResult,
  jsonRpcStatus,
  type Method,
  type Operation,
  readCall,
  type RpcCall,
} from '@app/wire';
import { Controller, HttpCode, Logger, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { bytesOf, type EdgeRequest, principalOf, traceParentOf, whileConnected } from '../edge/caller.js';
import { reportInternal } from '../edge/error.filter.js';
import { codecOf, codecToRefuseIn, describeRefusal } from '../edge/surfaces.js';
import { A2aOperations } from './a2a-operations.js';

/** A2A over JSON-RPC, each version through its own codec. */
@Controller('a2a')
export class JsonRpcController {
  private readonly logger = new Logger('json-rpc');

  constructor(private readonly operations: A2aOperations) {}

  @Post()
  @HttpCode(200)
  async call(@Req() request: EdgeRequest, @Res() reply: FastifyReply): Promise<void> {
    const { status, body } = await this.answer(request, reply);
    void reply.code(status).header('Content-Type', 'application/json').send(JSON.stringify(body));
  }

  private async answer(request: EdgeRequest, reply: FastifyReply): Promise<{ status: number; body: JsonObject }> {
    let id: RpcCall['id'] = null;
    try {
      const call = readCall(bytesOf(request));
      ({ id } = call);
      if ('error' in call) throw call.error;
      const codec = codecOf(request);
      return { status: 200, body: encodeResult(id, await this.perform(codec, call, request, reply)) };
    } catch (thrown) {
      const error = asDomainError(thrown);
      if (error.kind === 'Internal') reportInternal(this.logger, thrown, request);
      describeRefusal(reply, error);
      return { status: jsonRpcStatus(error), body: encodeFailure(id, codecToRefuseIn(request).rpcError(error)) };
    }
  }

  private async perform(
    codec: A2aCodec,
    { method: name, params }: RpcCall,
    request: EdgeRequest,
    reply: FastifyReply,
  ): Promise<Json> {
    const method = codec.methods.get(name) as Method<Operation> | undefined;
    if (method === undefined) {
      throw new DomainError('MethodNotFound', `A2A ${codec.version} has no method "${name}"`, { method: name });
    }
    const decoded = method.decode(params);
    const traceParent = traceParentOf(request);
    const result = await this.operations.perform(method.operation, decoded, {
      principal: principalOf(request),
      protocolVersion: codec.version,
      signal: whileConnected(reply),
      ...(traceParent === undefined ? {} : { traceParent }),
    });
    return method.encode(result as never, decoded as never);
  }
}
