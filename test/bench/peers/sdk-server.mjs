import { randomUUID } from 'node:crypto';
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';

// The server of the official SDK, composed as in its documentation, with as many database connections as Acta. The agent
// returns the result of Acta's demo agent, and publishes the events of the SDK's sample agents (submitted, working, artifact,
// completed), which Acta records, too.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
const store = new DatabaseTaskStore(new Kysely({ dialect: new PostgresDialect({ pool }) }));

const now = () => new Date().toISOString();
const agent = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const text = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
    const submitted = { state: TaskState.TASK_STATE_SUBMITTED, timestamp: now(), message: undefined };
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: submitted,
        artifacts: [],
        history: [userMessage],
        metadata: {},
      }),
    );
    const working = { state: TaskState.TASK_STATE_WORKING, timestamp: now(), message: undefined };
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: working, metadata: {} }));
    const part = { content: { $case: 'text', value: text.toUpperCase() }, metadata: {}, filename: '', mediaType: '' };
    const artifact = {
      artifactId: randomUUID(),
      name: 'Upper-cased text',
      description: '',
      parts: [part],
      metadata: {},
      extensions: [],
    };
    bus.publish(
      AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: {} }),
    );
    const completed = { state: TaskState.TASK_STATE_COMPLETED, timestamp: now(), message: undefined };
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, metadata: {} }));
    bus.finished();
  },
  async cancelTask() {},
};

const card = {
  name: 'upper-case',
  description: 'Upper-cases its text',
  supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
};

const app = express();
const requestHandler = new DefaultRequestHandler(card, store, agent);
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
