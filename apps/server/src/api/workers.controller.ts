import { RemoteRuns } from '@app/execution';
import { native, readJson } from '@app/wire';
import { Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CallerRecheck } from '../edge/streams/credential-recheck.js';
import { bytesOf, type EdgeRequest, principalOf, whileConnected } from '../edge/caller.js';

/** Remote workers, in any language: claim a run, keep it, say what the agent does, finish. */
@Controller('api')
export class WorkersController {
  constructor(
    private readonly runs: RemoteRuns,
    private readonly recheck: CallerRecheck,
  ) {}

  @Post('workers/claim')
  @HttpCode(200)
  async claim(@Req() request: EdgeRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const wanted = native.decodeClaim(objectOf(request));
    const { authorization } = request.headers;
    // A run that a revoked key was given would be lost with its lease.
    const permit = () => this.recheck.require({ authorization });
    const claim = (signal: AbortSignal) => this.runs.claim(principalOf(request), wanted, signal, permit);
    return { runs: await this.recheck.during({ authorization }, whileConnected(reply), claim) };
  }

  @Post('runs/:id/heartbeat')
  @HttpCode(200)
  heartbeat(@Req() request: EdgeRequest, @Param('id') id: string) {
    return this.runs.heartbeat(principalOf(request), id, native.decodeHeartbeat(objectOf(request)));
  }

  @Post('runs/:id/publish')
  @HttpCode(200)
  publish(@Req() request: EdgeRequest, @Param('id') id: string) {
    const { outputs, ...write } = native.decodePublish(objectOf(request));
    return this.runs.publish(principalOf(request), id, write, outputs);
  }

  @Post('runs/:id/finish')
  @HttpCode(200)
  finish(@Req() request: EdgeRequest, @Param('id') id: string) {
    const { outcome, ...write } = native.decodeFinish(objectOf(request));
    return this.runs.finish(principalOf(request), id, write, outcome);
  }
}

const objectOf = (request: EdgeRequest) => native.decodeObject(readJson(bytesOf(request)));
