import { Socket } from 'node:net';
import type { Agent } from '../../agents/agent.contract.js';
import { importAgentModule } from '../../agents/import-module.js';
import { LineChannel } from '../channel/line-channel.js';
import { killGroup } from '../process-limits.js';
import { type FromAgent, RESPONSIVE_MS, type ToAgent } from '../channel/protocol.js';
import { toSentAgent } from '../remote-agent.js';
import { toSentError } from '../channel/sent-error.js';
import { ChildRuns } from './child-runs.js';
import { endWith } from './end-with-parent.js';

/**
 * The process of an agent module. Its argument is the id of its parent, with which it ends. It talks to the parent over file
 * descriptor 3; see protocol.ts.
 */
endWith(Number(process.argv[2]));
// An agent module sees the arguments of a program without any.
process.argv.splice(1);

/** A ping is late a little earlier than the parent acts on it. */
const LATE_SHARE = 0.9;

let agents: readonly Agent[] = [];
const socket = new Socket({ fd: 3, readable: true, writable: true });
// The parent has ended. This process has started nothing that may outlive it.
socket.on('close', () => killGroup(process.pid));
const channel = new LineChannel<FromAgent, ToAgent>(socket, {
  onMessage: receive,
  onBatchEnd: () => runs.startReceived(),
  onInvalid: (error) => {
    throw error;
  },
});
const runs = new ChildRuns(channel, () => agents);

// As in a server, a promise that nobody handles ends no run. The state after an exception is unknown, so the process ends.
process.on('unhandledRejection', (reason) => {
  channel.send({ type: 'unhandled', error: toSentError(reason), fatal: false });
});
process.on('uncaughtExceptionMonitor', (error) => {
  channel.send({ type: 'unhandled', error: toSentError(error), fatal: true });
  channel.flush();
});

function receive(message: ToAgent): void {
  switch (message.type) {
    case 'load':
      void load(message.path);
      return;
    case 'ping': {
      // The parent may have dropped runs while this process did not respond. It names them before it resumes.
      const late = Number(process.hrtime.bigint() / 1_000_000n) - message.sentMs >= RESPONSIVE_MS * LATE_SHARE;
      if (late) runs.hold();
      channel.send({ type: 'pong', late });
      return;
    }
    case 'resume':
      return runs.resume();
    case 'call':
      void call(message);
      return;
    default:
      return runs.receive(message);
  }
}

async function load(path: string): Promise<void> {
  runs.hold();
  try {
    const exported = await importAgentModule(path);
    agents = exported as Agent[];
    channel.send({ type: 'loaded', agents: exported.map(toSentAgent) });
    runs.resume();
  } catch (error) {
    channel.send({ type: 'not-loaded', error: toSentError(error) });
    channel.flush();
    process.exitCode = 1;
    socket.end();
  }
}

async function call({ call: id, agent, name, args }: Extract<ToAgent, { type: 'call' }>): Promise<void> {
  try {
    const target = agents[agent] as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
    channel.send({ type: 'result', call: id, value: await target[name]!(...args) });
  } catch (error) {
    channel.send({ type: 'result', call: id, error: toSentError(error) });
  }
}
