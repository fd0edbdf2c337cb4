import { describe, expect, it } from '@jest/globals';
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
