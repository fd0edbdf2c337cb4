import { type ChildProcess, spawn } from 'node:child_process';
import { basename } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import type { AgentTurn } from '../turn/agent-turn.js';
import { AttemptLost } from '../turn/attempt-lost.js';
import { LineChannel } from './channel/line-channel.js';
import { forget, killAtExit, killGroup, lowerPriority } from './process-limits.js';
import { ProcessWatch } from './process-watch.js';
import type { FromAgent, RemoteFunction, SentAgent, ToAgent } from './channel/protocol.js';
import { type AgentChannel, RemoteRun } from './remote-run.js';
import { fromSentError } from './channel/sent-error.js';

export interface AgentProcessOptions {
  /** How long a process may leave pings unanswered before it is killed, in milliseconds. */
  readonly unresponsiveMs: number;
  /** Maximum resident memory of a process. */
  readonly memoryMiB: number;
  /** The user and group of the processes; null: those of this process. */
  readonly uid: number | null;
  readonly gid: number | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The program of the processes; absent: the built one. */
  readonly program?: string;
}

const PROGRAM = fileURLToPath(new URL('./child/main.js', import.meta.url));
/** The pipe of the protocol. The process can use its stdin, stdout and stderr, which lead nowhere. */
const PROTOCOL_FD = 3;
/** How long a module may take to load. */
const LOAD_TIMEOUT_MS = 60_000;
/** How long the pipe of an ended process is read to its end. */
const CLOSE_TIMEOUT_MS = 500;

/** One process that executes the agents of one module. */
export class AgentProcess {
  /** Resolves with the cause when the process has ended and everything that it had sent is handled. */
  readonly ended: Promise<string>;
  /** The agents of the module. Rejects with the error of the module, or if the process ends before it is loaded. */
  readonly loaded: Promise<readonly (SentAgent | null)[]>;
  private readonly logger = new Logger('agent-process');
  private readonly child: ChildProcess;
  private readonly channel: AgentChannel;
  private readonly watch: ProcessWatch;
  private readonly runs = new Map<string, RemoteRun>();
  private readonly ignoredAborts = new Set<RemoteRun>();
  private readonly calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private callCount = 0;
  private endCause: string | null = null;
  private hasLoaded = false;
  private isRetired = false;
  private onLoaded!: (agents: readonly (SentAgent | null)[]) => void;
  private onNotLoaded!: (error: Error) => void;

  constructor(
    private readonly path: string,
    options: AgentProcessOptions,
    /** A run ignores its abort: the process should get no more runs. */
    private readonly onAbortIgnored: () => void,
  ) {
    const { env, uid, gid, memoryMiB, program = PROGRAM } = options;
    const heap = `--max-old-space-size=${memoryMiB}`;
    this.child = spawn(process.execPath, [heap, program, String(process.pid)], {
      env,
      ...(uid === null ? {} : { uid }),
      ...(gid === null ? {} : { gid }),
      // Windows would open a console window.
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    const { pid } = this.child;
    if (pid !== undefined) killAtExit(pid);
    this.channel = new LineChannel<ToAgent, FromAgent>(this.child.stdio[PROTOCOL_FD] as Duplex, {
      onMessage: (message) => this.receive(message),
      onBatchEnd: () => undefined,
      onInvalid: ({ message }) => this.kill(`agent process broke the protocol: ${message}`),
    });
    this.watch = new ProcessWatch(pid ?? 0, options, {
      ping: (sentMs) => this.channel.send({ type: 'ping', sentMs }),
      onUnresponsive: () => {
        this.yieldToOthers();
        this.dropUnstarted();
      },
      kill: (cause) => this.kill(cause),
    });
    this.loaded = new Promise((resolve, reject) => {
      this.onLoaded = resolve;
      this.onNotLoaded = reject;
    });
    this.loaded.catch(() => undefined);
    this.ended = this.untilEnded().then((cause) => this.finish(pid, cause));
    this.load();
  }

  get isResponsive(): boolean {
    return this.watch.isResponsive;
  }

  /** Whether the process has ended, or is about to. It then accepts no more runs. */
  get isEnding(): boolean {
    return this.endCause !== null;
  }

  /** Executes one turn. Rejects with the error of the agent, or with AttemptLost. */
  execute(agent: number, turn: AgentTurn): Promise<void> {
    const run: RemoteRun = new RemoteRun(this.channel, agent, turn, () => {
      this.ignoredAborts.add(run);
      this.onAbortIgnored();
    });
    this.runs.set(run.id, run);
    run.start();
    return run.ended.finally(() => this.remove(run));
  }

  call(agent: number, name: RemoteFunction, args: readonly unknown[]): Promise<unknown> {
    const call = (this.callCount += 1);
    return new Promise((resolve, reject) => {
      this.calls.set(call, { resolve, reject });
      this.channel.send({ type: 'call', call, agent, name, args });
    });
  }

  /** Lets the server and other agents have the CPU first. */
  yieldToOthers(): void {
    if (this.child.pid !== undefined) lowerPriority(this.child.pid);
  }

  /** Ends the process as soon as no run is left that could still be recorded. */
  retire(): void {
    this.isRetired = true;
    if ([...this.runs.values()].every((run) => this.ignoredAborts.has(run))) this.kill('agent process was replaced');
  }

  kill(cause: string): void {
    this.endCause ??= cause;
    if (this.child.pid !== undefined) killGroup(this.child.pid);
  }

  private load(): void {
    this.channel.send({ type: 'load', path: this.path });
    const timer = setTimeout(
      () => this.kill(`agent process did not load its module within ${LOAD_TIMEOUT_MS / 1_000} s`),
      LOAD_TIMEOUT_MS,
    );
    this.loaded.then(
      () => {
        clearTimeout(timer);
        this.watch.start();
      },
      () => clearTimeout(timer),
    );
  }

  private receive(message: FromAgent): void {
    switch (message.type) {
      case 'loaded':
        this.hasLoaded = true;
        return this.onLoaded(message.agents);
      case 'not-loaded':
        return this.onNotLoaded(fromSentError(message.error, ''));
      case 'started':
        for (const id of message.runs) {
          const run = this.runs.get(id);
          if (run !== undefined) run.isStarted = true;
          run?.onAcknowledged(1);
        }
        return;
      case 'output':
        return this.runs.get(message.run)?.onOutput(message.output, message.read);
      case 'end':
        return this.runs.get(message.run)?.onEnd(message);
      case 'ack':
        return this.runs.get(message.run)?.onAcknowledged(message.count);
      case 'pong':
        this.watch.onPong();
        if (message.late) this.channel.send({ type: 'resume' });
        return;
      case 'result': {
        const call = this.calls.get(message.call);
        this.calls.delete(message.call);
        return message.error === undefined
          ? call?.resolve(message.value)
          : call?.reject(fromSentError(message.error, ''));
      }
      case 'unhandled': {
        const text = message.fatal ? 'unhandled exception in an agent process' : 'unhandled promise rejection';
        this.logger.error({ message: text, module: basename(this.path), error: fromSentError(message.error, '') });
        return;
      }
      default:
        throw new Error('a message has an unknown type');
    }
  }

  /** Gives back the runs whose agents have not started, so that they do not wait for a process that does not respond. */
  private dropUnstarted(): void {
    for (const run of this.runs.values()) if (!run.isStarted) run.drop();
  }

  private remove(run: RemoteRun): void {
    this.runs.delete(run.id);
    this.ignoredAborts.delete(run);
    if (this.isRetired) this.retire();
  }

  private async untilEnded(): Promise<string> {
    const { child } = this;
    const cause = await new Promise<string>((resolve) => {
      child.once('error', ({ message }) => resolve(`agent process cannot be started: ${message}`));
      child.once('exit', (code, signal) =>
        resolve(signal === null ? `agent process exited with code ${code}` : `agent process was ended by ${signal}`),
      );
    });
    this.endCause ??= cause;
    const stream = child.stdio[PROTOCOL_FD] as Duplex | null;
    if (stream !== null && !stream.closed && child.pid !== undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
        stream.once('close', () => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return this.endCause;
  }

  private finish(pid: number | undefined, cause: string): string {
    this.watch.stop();
    if (pid !== undefined) forget(pid);
    this.onNotLoaded(new Error(cause));
    const runs = [...this.runs.values()];
    const started = runs.filter((run) => run.isStarted);
    for (const run of runs) {
      const { id: runId, taskId, isStarted } = run;
      // With several runs, it is unknown which of them has ended the process.
      const counted = this.hasLoaded ? isStarted && started.length === 1 : true;
      this.logger.warn({ message: 'run lost', cause, taskId, runId, module: basename(this.path), counted });
      run.fail(new AttemptLost(cause, { reason: 'process-ended', counted, ownProcess: isStarted }));
    }
    for (const call of this.calls.values()) call.reject(new Error(cause));
    this.calls.clear();
    return cause;
  }
}
