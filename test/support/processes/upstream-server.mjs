import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';

// The official SDK's server as an agent that someone else runs. It keeps its tasks in a file, so that it can be killed, and
// on its next start ends what it had begun. Words in a text steer it.
const { PORT = '0', DATA_DIR, VERSION = '1.0', STREAMING = 'true', NAMES } = process.env;
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
    // As a whole or not at all: it is killed at any moment.
    writeFileSync(`${file}.new`, JSON.stringify(this.tasks));
    renameSync(`${file}.new`, file);
  }
}

const store = new FileTaskStore();
const begun = Object.values(store.tasks);
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
    const says = (word) => new RegExp(`\\b${word}\\b`).test(text);
    const message = (said) => ({
      messageId: randomUUID(),
      role: Role.ROLE_AGENT,
      parts: [textPart(said)],
      taskId,
      contextId,
      metadata: {},
      extensions: [],
      referenceTaskIds: [],
    });
    if (says('reply')) {
      bus.publish(AgentEvent.message({ ...message(text.toUpperCase()), taskId: '' }));
      return bus.finished();
    }
    const status = (state, said) => {
      const now_ = { state, timestamp: now(), message: said === undefined ? undefined : message(said) };
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: now_, metadata: {} }));
    };
    const chunk = (artifactId, value, append, lastChunk) => {
      const artifact = artifactOf(artifactId, [textPart(value)]);
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: {} }));
    };
    const state = task === undefined ? TaskState.TASK_STATE_SUBMITTED : TaskState.TASK_STATE_WORKING;
    const fresh = { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: {} };
    bus.publish(AgentEvent.task({ ...(task ?? fresh), status: { state, timestamp: now(), message: undefined } }));
    status(TaskState.TASK_STATE_WORKING, says('report') ? 'at work' : undefined);
    if (says('unstarted')) chunk('never started', 'x', true, true);
    if (says('draft')) chunk('text', 'DRAFT ', false, false);
    const callOff = () => status(TaskState.TASK_STATE_CANCELED, 'called off');
    if (says('ask')) {
      waiting.set(taskId, callOff);
      return status(TaskState.TASK_STATE_INPUT_REQUIRED, 'which one?');
    }
    if (says('auth')) return status(TaskState.TASK_STATE_AUTH_REQUIRED, 'sign in');
    if (says('fail')) return status(TaskState.TASK_STATE_FAILED, 'failed, as asked');
    if (says('reject')) return status(TaskState.TASK_STATE_REJECTED, 'rejected, as asked');
    const chunks = number('chunks', 1);
    for (let at = 0; at < chunks; at += 1) {
      chunk('text', says('goes on') ? text.toUpperCase() : `${at} `, at > 0 || says('goes on'), at === chunks - 1);
      await sleep(number('every', 0));
      if (canceled.has(taskId)) return callOff();
    }
    status(TaskState.TASK_STATE_COMPLETED, says('report') ? 'done' : undefined);
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
    supportedInterfaces: [{ url: NAMES ?? url, protocolBinding: 'JSONRPC', protocolVersion: VERSION, tenant: '' }],
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
  // Agents of 0.3 do not know the header.
  app.use((request, _response, next) => {
    if (VERSION === '0.3') delete request.headers['a2a-version'];
    next();
  });
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
  console.log(url);
  void endWhatWasBegun();
});

async function endWhatWasBegun() {
  await sleep(500);
  for (const task of begun) {
    if (task.status.state !== TaskState.TASK_STATE_WORKING) continue;
    const status = { state: TaskState.TASK_STATE_COMPLETED, timestamp: now(), message: undefined };
    await store.save({ ...task, artifacts: [artifactOf('text', [textPart('ended after all')])], status });
  }
}
