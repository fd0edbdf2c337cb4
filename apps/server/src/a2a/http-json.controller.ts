import type { HttpQuery } from '@app/wire';
import { All, Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { EdgeRequest } from '../edge/callers/edge-request.js';
import { codecOf, httpRouteOf } from '../edge/http/codecs.js';
import { sendJson } from '../edge/http/json-response.js';
import { bodyOf } from '../edge/http/request-body.js';
import { Surface } from '../edge/routes/route-config.js';
import { SseStreams } from '../edge/streams/sse-streams.js';
import { callerOf, encodeStream } from './a2a-caller.js';
import { A2aOperations } from './a2a-operations.js';

/** A2A over HTTP+JSON. The codec of each version defines the paths below the two addresses, which are those of the cards. */
@Surface('a2a-http-json')
@Controller(['a2a/v1', 'a2a/http-json/v1'])
export class HttpJsonController {
  constructor(
    private readonly operations: A2aOperations,
    private readonly sse: SseStreams,
  ) {}

  @All('*')
  async call(@Req() request: EdgeRequest, @Res() reply: FastifyReply): Promise<void> {
    const codec = codecOf(request);
    const { method, decode } = httpRouteOf(codec, request);
    const params = decode(request.query as HttpQuery, bodyOf(request));
    const caller = callerOf(codec, this.operations.extensionsOf, request, reply);
    const { result, stream } = await this.operations.execute(method, params, caller);
    if (stream === undefined) sendJson(request, reply, result);
    else await this.sse.send(request, reply, encodeStream(stream, codec.http.encodeUpdate));
  }
}
