import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventually, V1Caller } from '../../support/clients/rpc.js';
import { DatabaseView } from '../../support/database/database-view.js';
import { createDataDir } from '../../support/processes/acta-process.js';
import { writeAgentModule } from '../../support/processes/agent-module.js';
import { sizeOf } from '../../support/extended.js';
import { type RunningServer, SECRET, startServer, TOKEN } from '../../support/processes/start-server.js';
import { hostileModule } from './modules/agent-modules.js';

const HOSTILE = ['exits', 'throws', 'blocks', 'grows'];
/** Short limits, so that the agents reach them soon. The full sizes are the defaults. */
const UNRESPONSIVE_S = sizeOf({ smoke: 2, full: 30 });
const MEMORY_MIB = sizeOf({ smoke: 300, full: 1_024 });
const LIMITS = {
  ACTA_AGENT_UNRESPONSIVE_MS: String(UNRESPONSIVE_S * 1_000),
  ACTA_AGENT_MEMORY_MB: String(MEMORY_MIB),
};

const isRunning = (pid: number): boolean => {
  try {
    // A process that has ended and whose parent has not noticed yet is no longer running.
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z');
  } catch {
    return false;
  }
};

/** Returns the ids of the agent processes of a server: their last argument is the id of the server. */
const agentProcessesOf = ({ process: { pid } }: RunningServer): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('processes/child/main.js') && line.endsWith(` ${pid}`))
    .map((line) => Number.parseInt(line, 10));

const callerAt = ({ url }: RunningServer, agent: string) => new V1Caller(`${url}/agents/${agent}`, TOKEN);
const textOf = (task: { status: { message?: { parts: { text?: string }[] } } }) => task.status.message?.parts[0]?.text;
const linesOf = ({ process }: RunningServer) =>
  process.output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('An agent that damages its process', () => {
  it('fails its own tasks with the true cause, and affects no other agent', async () => {
    const modules = await Promise.all(HOSTILE.map(hostileModule));
    const server = await startServer({ env: { ...LIMITS, ACTA_AGENTS: ['demo', ...modules].join(',') } });
    const causes: Record<string, string> = {
      exits: 'agent process exited with code 3',
      throws: 'agent process exited with code 1',
      blocks: `agent process did not respond for ${UNRESPONSIVE_S} s`,
      'grows heap': `agent process used more than ${MEMORY_MIB} MiB of memory`,
      'grows buffer': `agent process used more than ${MEMORY_MIB} MiB of memory`,
    };
    const failing = Object.keys(causes).map((name) => {
      const [agent = '', text = 'go'] = name.split(' ');
      return callerAt(server, agent).send(text);
    });
    const others = Array.from({ length: 200 }, async (_, n) => callerAt(server, 'demo').send(`hello ${n}`));
    for (const task of await Promise.all(others)) expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200);
    const failed = await Promise.all(failing);
    expect(failed.map(textOf)).toEqual(
      Object.values(causes).map((cause) => `all 2 attempts were lost; the last one: ${cause}`),
    );
    const lines = linesOf(server);
    for (const [index, { id }] of failed.entries()) {
      const cause = Object.values(causes)[index];
      const lost = expect.objectContaining({ message: 'run lost', taskId: id, cause });
      expect(lines).toContainEqual(lost);
      const database = new DatabaseView(server.databaseUrl!);
      const facts = (await database.streams()).get(id)!.map((event) => JSON.parse(event.facts) as object);
      await database.close();
      expect(facts).toContainEqual(expect.objectContaining({ reason: 'process-ended', cause }));
    }
    const processes = agentProcessesOf(server);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    await eventually(
      async () => processes.filter(isRunning),
      (running) => running.length === 0,
    );
  }, 240_000);

  it('fails only the task that ends the process, if other tasks of the same agent are in the process', async () => {
    const server = await startServer({ env: { ACTA_AGENTS: await hostileModule('poison') } });
    const caller = callerAt(server, 'poison');
    const others = Array.from({ length: 99 }, async (_, n) => caller.send(`task ${n}`));
    const poison = await caller.send('poison');
    expect(poison.status.state).toBe('TASK_STATE_FAILED');
    expect(textOf(poison)).toBe('all 2 attempts were lost; the last one: agent process exited with code 1');
    const database = new DatabaseView(server.databaseUrl!);
    for (const task of await Promise.all(others)) {
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'after attempt 1' }]);
    }
    const starts = [...(await database.streams()).values()].map(
      (events) => events.filter(({ type }) => type === 'RunStarted').length,
    );
    await database.close();
    await server.stop();
    expect(starts).toHaveLength(100);
    expect(Math.max(...starts)).toBeLessThanOrEqual(3);
    expect(starts.some((count) => count > 1)).toBe(true);
  }, 60_000);

  it('leaves nothing running when its server is killed, even if it blocks and has started a process', async () => {
    const server = await startServer({ env: { ACTA_AGENTS: await hostileModule('parent') } });
    const { id } = await callerAt(server, 'parent').start('go');
    const task = await eventually(
      () => callerAt(server, 'parent').get(id),
      (current) => textOf(current) !== undefined,
    );
    const pids = textOf(task)!.split(' ').map(Number);
    expect(pids.filter(isRunning)).toHaveLength(2);
    server.process.kill('SIGKILL');
    await server.process.exited;
    await eventually(
      async () => pids.filter(isRunning),
      (running) => running.length === 0,
    );
    await server.stop();
  });
});

describe('An agent process', () => {
  it('has the environment of the server without the secrets of Acta', async () => {
    const env = {
      ACTA_AGENTS: await hostileModule('environment'),
      ACTA_OIDC_ISSUER: 'https://issuer.example',
      ACTA_OIDC_AUDIENCE: 'acta',
      ACTA_OIDC_JWKS_URL: 'https://issuer.example/keys',
      PGPASSWORD: 'a password of Postgres',
      AGENT_SETTING: 'a setting of the agent',
    };
    const server = await startServer({ env });
    const environment = textOf(await callerAt(server, 'environment').send('print'))!;
    await server.stop();
    expect(JSON.parse(environment)).toMatchObject({ AGENT_SETTING: 'a setting of the agent' });
    for (const secret of [SECRET, TOKEN, server.databaseUrl!, 'issuer.example', env.PGPASSWORD]) {
      expect(environment).not.toContain(secret);
    }
    expect(
      Object.keys(JSON.parse(environment) as object).filter((name) => /^(ACTA_|DATABASE_URL|PG)/.test(name)),
    ).toEqual([]);
  });

  it.each(['process', 'none'])(
    'loads a TypeScript module that imports another, with the isolation %s',
    async (isolation) => {
      const path = join(await createDataDir(), 'typed', 'agent.ts');
      await mkdir(dirname(path));
      await writeFile(
        join(dirname(path), 'mood.ts'),
        `export enum Mood { Calm = 'calm' }\nexport class Teller { constructor(private readonly mood: Mood) {} tell(): string { return this.mood; } }`,
      );
      await writeFile(
        path,
        `import { Mood, Teller } from './mood.ts';
       interface Context { complete(text: string): Promise<void> }
       const skills: { id: string; name: string; description: string; tags: string[] }[] =
         [{ id: 'typed', name: 'Typed', description: 'typed', tags: [] }];
       export default { name: 'typed', description: 'typed', version: '1.0.0', skills,
         run: (ctx: Context) => ctx.complete(new Teller(Mood.Calm).tell()) };`,
      );
      const server = await startServer({ env: { ACTA_AGENTS: path, ACTA_AGENT_ISOLATION: isolation } });
      expect(textOf(await callerAt(server, 'typed').send('hello'))).toBe('calm');
      await server.stop();
    },
  );

  it.each([
    ['throws', `throw new Error('not today');`, 'the module cannot be loaded: not today'],
    ['exits', `process.exit(4);`, 'the module cannot be loaded: agent process exited with code 4'],
    ['exports no agent', `export default 1;`, 'the default export must be an agent or an array of agents'],
    [
      'exports a run that is no function',
      `export default { name: 'a', description: 'b', version: '1', skills: [], run: 1 };`,
      'must be a function',
    ],
  ])('prevents startup with an error of one sentence if its module %s', async (_title, source, problem) => {
    const path = await writeAgentModule(source);
    const message = new RegExp(`acta: ACTA_AGENTS: ${path}: .*${problem}`);
    await expect(startServer({ env: { ACTA_AGENTS: path } })).rejects.toThrow(message);
  });
});
