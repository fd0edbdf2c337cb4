import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';

// An upstream agent on the server of the official SDK. It stores its tasks in a file, so that a test can kill it; its next
// start completes the tasks that were working. Words in the text of a message control its behavior.
const { PORT = '0', DATA_DIR, VERSION = '1.0', STREAMING = 'true', CARD_URL } = process.env;
const file = join(DATA_DIR, 'tasks.json');
const calls = join(DATA_DIR, 'calls.log');
const now = () => new Date().toISOString();

class FileTaskStore extends InMemoryTaskStore {
  tasks = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};

  async open() {
    for (const task of Object.values(this.tasks)) await this.save(task);
  }

  async save(task, context = {}) {
    await super.save(task, context);
    this.tasks[task.id] = task;
    // The rename is atomic, because a test can kill the process at any moment.
    writeFileSync(`${file}.new`, JSON.stringify(this.tasks));
    renameSync(`${file}.new`, file);
  }
}

const store = new FileTaskStore();
const storedTasks = Object.values(store.tasks);
await store.open();

const textPart = (value) => ({ content: { $case: 'text', value }, metadata: {}, filename: '', mediaType: '' });
const artifactOf = (artifactId, parts) => ({
  artifactId,
  name: '',
  description: '',
  parts,
  metadata: {},
  extensions: [],
});
const canceled = new Set();
const waiting = new Map();

const agent = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    appendFileSync(calls, `${JSON.stringify({ taskId, messageId: userMessage.messageId })}\n`);
    const text = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
    const number = (word, fallback) => Number(new RegExp(`\\b${word} (\\d+)`).exec(text)?.[1] ?? fallback);
    const hasWord = (word) => new RegExp(`\\b${word}\\b`).test(text);
    const message = (value) => ({
      messageId: randomUUID(),
      role: Role.ROLE_AGENT,
      parts: [textPart(value)],
      taskId,
      contextId,
      metadata: {},
      extensions: [],
      referenceTaskIds: [],
    });
    if (hasWord('reply')) {
      bus.publish(AgentEvent.message({ ...message(text.toUpperCase()), taskId: '' }));
      return bus.finished();
    }
    const publishStatus = (state, value) => {
      const status = { state, timestamp: now(), message: value === undefined ? undefined : message(value) };
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: {} }));
    };
    const publishChunk = (artifactId, value, append, lastChunk) => {
      const artifact = artifactOf(artifactId, [textPart(value)]);
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: {} }));
    };
    const state = task === undefined ? TaskState.TASK_STATE_SUBMITTED : TaskState.TASK_STATE_WORKING;
    const newTask = { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: {} };
    bus.publish(AgentEvent.task({ ...(task ?? newTask), status: { state, timestamp: now(), message: undefined } }));
    publishStatus(TaskState.TASK_STATE_WORKING, hasWord('report') ? 'working' : undefined);
    if (hasWord('unstarted')) publishChunk('never started', 'x', true, true);
    if (hasWord('draft')) publishChunk('text', 'DRAFT ', false, false);
    const cancel = () => publishStatus(TaskState.TASK_STATE_CANCELED, 'canceled upstream');
    if (hasWord('ask')) {
      waiting.set(taskId, cancel);
      return publishStatus(TaskState.TASK_STATE_INPUT_REQUIRED, 'which one?');
    }
    if (hasWord('auth')) return publishStatus(TaskState.TASK_STATE_AUTH_REQUIRED, 'sign in');
    if (hasWord('fail')) return publishStatus(TaskState.TASK_STATE_FAILED, 'The text contains `fail`.');
    if (hasWord('reject')) return publishStatus(TaskState.TASK_STATE_REJECTED, 'The text contains `reject`.');
    const chunks = number('chunks', 1);
    const appends = hasWord('append');
    for (let index = 0; index < chunks; index += 1) {
      publishChunk('text', appends ? text.toUpperCase() : `${index} `, index > 0 || appends, index === chunks - 1);
      await sleep(number('every', 0));
      if (canceled.has(taskId)) return cancel();
    }
    publishStatus(TaskState.TASK_STATE_COMPLETED, hasWord('report') ? 'done' : undefined);
  },
  async cancelTask(taskId, bus) {
    canceled.add(taskId);
    waiting.get(taskId)?.();
    if (waiting.has(taskId)) bus.finished();
  },
};

const app = express();
app.get('/state', (_request, response) => {
  const lines = existsSync(calls) ? readFileSync(calls, 'utf8').split('\n').filter(Boolean) : [];
  response.json({ tasks: Object.values(store.tasks), calls: lines.map((line) => JSON.parse(line)) });
});
const server = app.listen(Number(PORT), '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const card = {
    name: 'Upstream agent',
    description: 'Counts',
    supportedInterfaces: [{ url: CARD_URL ?? url, protocolBinding: 'JSONRPC', protocolVersion: VERSION, tenant: '' }],
    version: '3.2.1',
    capabilities: { streaming: STREAMING === 'true', pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 'count',
        name: 'Count',
        description: 'counts',
        tags: [],
        examples: [],
        inputModes: ['application/json'],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
  const requestHandler = new DefaultRequestHandler(card, store, agent);
  const legacyCompat = { enabled: VERSION === '0.3' };
  // An agent of 0.3 ignores the header.
  app.use((request, _response, next) => {
    if (VERSION === '0.3') delete request.headers['a2a-version'];
    next();
  });
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
  console.log(url);
  void completeStoredTasks();
});

async function completeStoredTasks() {
  await sleep(500);
  for (const task of storedTasks) {
    if (task.status.state !== TaskState.TASK_STATE_WORKING) continue;
    const status = { state: TaskState.TASK_STATE_COMPLETED, timestamp: now(), message: undefined };
    await store.save({ ...task, artifacts: [artifactOf('text', [textPart('completed after restart')])], status });
  }
}
