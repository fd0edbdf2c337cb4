import { describe, expect, it } from '@jest/globals';
import { decodeHttp, decodeParams, invalidFields } from '../../../../test/support/clients/decoding.js';
import { PROTOCOLS } from '../protocols.js';

const [v1, v03] = [PROTOCOLS['1.0'], PROTOCOLS['0.3']];
const send = (role: unknown) => () =>
  decodeParams(v1.codec, 'SendMessage', { message: { messageId: 'm', role, parts: [{ text: 'hi' }] } });
const list = (status: unknown) => decodeParams(v1.codec, 'ListTasks', { status });

// ProtoJSON: "Parsers accept both enum names and integer values."
describe('An enum of A2A v1.0', () => {
  it('is accepted as the number of the role of a message', () => {
    expect(send(1)()).toEqual(send('ROLE_USER')());
    expect(send(1.0)()).toEqual(send('ROLE_USER')());
  });

  it.each([0, 2, 3, -1, 1.5, '1', true, 'USER', 'role_user', 'ROLE_UNSPECIFIED', [1]])(
    'is rejected as the role %j of a message to an agent',
    (role) => {
      expect(invalidFields(send(role))).toEqual(['message.role']);
    },
  );

  it.each([
    [1, 'submitted'],
    [2, 'working'],
    [3, 'completed'],
    [4, 'failed'],
    [5, 'canceled'],
    [6, 'input-required'],
    [7, 'rejected'],
    [8, 'auth-required'],
  ])('is accepted as the number %s of a state, which is %s', (number, status) => {
    expect(list(number)).toMatchObject({ status });
    expect(decodeHttp(v1.codec, 'GET', 'tasks', { query: { status: String(number) } })[1]).toMatchObject({ status });
  });

  it('filters nothing as the unspecified state', () => {
    for (const status of [0, 'TASK_STATE_UNSPECIFIED', '', null, undefined]) {
      expect(list(status)).toEqual({ pageSize: 50, includeArtifacts: false });
    }
  });

  it.each([9, -1, 2.5, '2', 'WORKING', true, {}])('is rejected as the state %j', (status) => {
    expect(invalidFields(() => list(status))).toEqual(['status']);
  });

  it.each(['9', '-1', '2.5', '99999999999', '0x2'])('is rejected as the state %s of a query', (status) => {
    expect(invalidFields(() => decodeHttp(v1.codec, 'GET', 'tasks', { query: { status } }))).toEqual(['status']);
  });

  it('is accepted as a number in the response of an upstream agent', () => {
    const message = { messageId: 'm', role: 2, parts: [{ text: 'hi' }] };
    expect(v1.client.decodeTask({ id: 't', status: { state: 6, message } })).toMatchObject({
      status: { state: 'input-required', message: { role: 'agent' } },
    });
    expect(invalidFields(() => v1.client.decodeTask({ id: 't', status: { state: 0 } }))).toEqual(['task.status.state']);
  });
});

describe('An enum of A2A v0.3', () => {
  it('is accepted as a number in the HTTP+JSON binding, which is ProtoJSON', () => {
    const body = (role: unknown) => ({ message: { messageId: 'm', role, content: [{ text: 'hi' }] } });
    const decode = (role: unknown) => decodeHttp(v03.codec, 'POST', 'message:send', { body: body(role) });
    expect(decode(1)).toEqual(decode('ROLE_USER'));
    expect(invalidFields(() => decode(2))).toEqual(['message.role']);
  });

  it('is rejected as a number in the JSON-RPC binding, whose schema has only names', () => {
    const message = { messageId: 'm', role: 1, parts: [{ kind: 'text', text: 'hi' }] };
    expect(invalidFields(() => decodeParams(v03.codec, 'message/send', { message }))).toEqual(['message.role']);
  });
});
