import { describe, expect, it } from '@jest/globals';
import { BOUNDS } from '@app/domain';
import fc from 'fast-check';
import { readCall } from './json-rpc.js';

const read = (body: unknown) => readCall(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
const call = { jsonrpc: '2.0', id: 7, method: 'GetTask', params: { id: 't' } };

describe('A JSON-RPC call', () => {
  // [A2A-RPC-2]
  it.each([['a string'], [''], [0], [-1], [42], [null]])('has the id %j of its request', (id) => {
    expect(read({ ...call, id })).toEqual({ id, method: 'GetTask', params: { id: 't' } });
  });

  it('can have no params', () => {
    expect(read({ jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard' })).toMatchObject({
      method: 'GetExtendedAgentCard',
    });
  });

  it.each([
    ['a batch', [call], null],
    ['an empty batch', [], null],
    ['a string', '"x"', null],
    ['null', 'null', null],
    ['a different version', { ...call, jsonrpc: '1.0' }, 7],
    ['no version', { ...call, jsonrpc: undefined }, 7],
    ['a method that is not a string', { ...call, method: 1 }, 7],
    ['no method', { ...call, method: undefined }, 7],
    ['an empty method', { ...call, method: '' }, 7],
    ['params that are an array', { ...call, params: [] }, 7],
    ['params that are null', { ...call, params: null }, 7],
    ['params that are a string', { ...call, params: 'x' }, 7],
    ['no id', { ...call, id: undefined }, null],
    ['an id with a fraction', { ...call, id: 1.5 }, null],
    ['an id beyond safe integers', { ...call, id: 2 ** 60 }, null],
    ['an object as id', { ...call, id: {} }, null],
    ['true as id', { ...call, id: true }, null],
    ['an array as id', { ...call, id: [1] }, null],
    ['a very long id', { ...call, id: 'x'.repeat(300) }, null],
  ])('is rejected with %s as an invalid request, with the id if it could be read', (_, body, id) => {
    expect(read(body)).toMatchObject({ id, error: { kind: 'InvalidRequest' } });
  });

  // [A2A-RPC-1]
  it('is rejected with invalid JSON as a parse error without an id', () => {
    expect(read('{"jsonrpc":"2.0","id":7,')).toMatchObject({ id: null, error: { kind: 'ParseError' } });
  });

  it('is rejected with params beyond the JSON bounds as invalid parameters, with the id and a path inside params', () => {
    expect(read({ ...call, params: { message: { parts: ['\0'] } } })).toMatchObject({
      id: 7,
      error: { kind: 'InvalidParameters', details: { violations: [{ field: 'message.parts[0]' }] } },
    });
  });

  // RFC 7493 section 2.3
  it.each([
    ['method', '{"jsonrpc":"2.0","id":7,"method":"GetTask","method":"CancelTask","params":{"id":"t"}}', 7],
    ['params', '{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t"},"params":{"id":"u"}}', 7],
    ['params', '{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{},"p\\u0061rams":{"id":"u"}}', 7],
    ['jsonrpc', '{"jsonrpc":"1.0","jsonrpc":"2.0","id":7,"method":"GetTask"}', 7],
    ['id', '{"jsonrpc":"2.0","id":7,"id":8,"method":"GetTask"}', null],
    ['other.a', '{"jsonrpc":"2.0","id":7,"method":"GetTask","other":{"a":1,"a":1}}', 7],
    ['other', '{"jsonrpc":"2.0","id":7,"method":"GetTask","other":9007199254740993}', 7],
  ])('is rejected as an invalid request that names %s if the envelope is ambiguous: %s', (field, body, id) => {
    const message = expect.stringContaining(`"${field}" `);
    expect(read(body)).toMatchObject({ id, error: { kind: 'InvalidRequest', message } });
  });

  it.each([
    ['message.messageId', '{"message":{"messageId":"a","messageId":"b"}}'],
    ['message.parts[0].data.n', '{"message":{"parts":[{"data":{"n":-9007199254740993}}]}}'],
    ['message.metadata.n', '{"message":{"metadata":{"n":1e999}}}'],
    ['metadata.n', '{"metadata":{"n":1e-999}}'],
  ])(
    'is rejected as invalid parameters with the path %s inside params if the value is ambiguous or not represented',
    (field, params) => {
      expect(read(`{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":${params}}`)).toMatchObject({
        id: 7,
        error: { kind: 'InvalidParameters', details: { violations: [{ field }] } },
      });
    },
  );

  it('can have as many levels, members and elements in its params as a body without an envelope', () => {
    const nested = `${'{"a":'.repeat(BOUNDS.jsonDepth)}1${'}'.repeat(BOUNDS.jsonDepth)}`;
    expect(read(`{"jsonrpc":"2.0","id":7,"method":"GetTask","params":${nested}}`)).toMatchObject({ method: 'GetTask' });
    const list = Array(BOUNDS.jsonKeys - 1).fill(0);
    expect(read({ ...call, params: { list } })).toMatchObject({ method: 'GetTask' });
    expect(read({ ...call, params: { list, one: 1 } })).toMatchObject({ error: { kind: 'InvalidParameters' } });
  });

  it('is read without an exception, whatever its bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readCall(bytes)),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.jsonValue(), (body) => void read(body)),
      { numRuns: 2000 },
    );
  });
});
