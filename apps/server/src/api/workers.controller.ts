import type { Principal } from '@app/domain';
import { WorkerClaims, WorkerRuns } from '@app/execution';
import { type HttpQuery, native, parseAndCheckJson } from '@app/wire';
import { Controller, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { disconnectSignal, type EdgeRequest } from '../edge/callers/edge-request.js';
import { CurrentPrincipal } from '../edge/callers/request-parameters.js';
import { bodyOf } from '../edge/http/request-body.js';
import { Roles, Surface } from '../edge/routes/route-config.js';
import { CredentialRecheck } from '../edge/streams/credential-recheck.js';

/** The HTTP API for workers in any language: claim a run, send heartbeats, publish outputs, finish the run. */
@Surface('api')
@Roles('worker')
@Controller('api')
export class WorkersController {
  constructor(
    private readonly claims: WorkerClaims,
    private readonly runs: WorkerRuns,
    private readonly recheck: CredentialRecheck,
  ) {}

  @Post('workers/claim')
  @HttpCode(200)
  async claim(
    @CurrentPrincipal() principal: Principal,
    @Req() request: EdgeRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Query() query: HttpQuery,
  ) {
    native.requireNoParameters(query);
    const wanted = native.decodeClaim(readObject(request));
    const response = { authorization: request.headers.authorization };
    // Checked again right before the claim: a run that a revoked key claims would be lost until its lease expires.
    const permit = () => this.recheck.requireAccess(response);
    const runs = await this.recheck.runWithAccess(response, disconnectSignal(reply), ({ signal }) =>
      this.claims.claim(principal, wanted, signal, permit),
    );
    return { runs };
  }

  @Post('runs/:id/heartbeat')
  @HttpCode(200)
  heartbeat(
    @CurrentPrincipal() principal: Principal,
    @Req() request: EdgeRequest,
    @Param('id') id: string,
    @Query() query: HttpQuery,
  ) {
    native.requireNoParameters(query);
    return this.runs.heartbeat(principal, id, native.decodeHeartbeat(readObject(request)));
  }

  @Post('runs/:id/publish')
  @HttpCode(200)
  publish(
    @CurrentPrincipal() principal: Principal,
    @Req() request: EdgeRequest,
    @Param('id') id: string,
    @Query() query: HttpQuery,
  ) {
    native.requireNoParameters(query);
    const { outputs, ...write } = native.decodePublish(readObject(request));
    return this.runs.publish(principal, id, write, outputs);
  }

  @Post('runs/:id/finish')
  @HttpCode(200)
  finish(
    @CurrentPrincipal() principal: Principal,
    @Req() request: EdgeRequest,
    @Param('id') id: string,
    @Query() query: HttpQuery,
  ) {
    native.requireNoParameters(query);
    const { outcome, ...write } = native.decodeFinish(readObject(request));
    return this.runs.finish(principal, id, write, outcome);
  }
}

const readObject = (request: EdgeRequest) => native.decodeObject(parseAndCheckJson(bodyOf(request)));
