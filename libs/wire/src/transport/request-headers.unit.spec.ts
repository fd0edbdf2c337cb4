import { describe, expect, it } from '@jest/globals';
import { activeExtensions } from './extensions.js';
import {
  A2A_JSON_MEDIA_TYPE,
  checkMediaType,
  JSON_MEDIA_TYPE,
  prefersEventStream,
  responseMediaType,
} from './media-type.js';
import { protocolVersionOf } from './version.js';

describe('The A2A-Version header', () => {
  // F28
  it.each([
    ['1.0', '1.0'],
    ['0.3', '0.3'],
    ['', '0.3'],
    [undefined, '0.3'],
    [['1.0'], '1.0'],
    [[], '0.3'],
  ])('%j means version %s', (header, version) => {
    expect(protocolVersionOf(header)).toBe(version);
  });

  // F28: patch numbers, guesses, whitespace that no HTTP parser leaves, and two headers, joined or not.
  // [A2A-VERSION-2]
  it.each([
    ['1.0.0'],
    ['1'],
    ['0.3.0'],
    ['2.0'],
    ['v1.0'],
    [' '],
    ['1.0,0.3'],
    ['1.0, 1.0'],
    ['1,0'],
    [['1.0', '1.0']],
    [['', '']],
    [['0.3', '1.0']],
    ['constructor'],
  ])('%j is rejected as an unsupported version', (header) => {
    expect(() => protocolVersionOf(header)).toThrow(expect.objectContaining({ kind: 'VersionNotSupported' }));
  });

  it('is cut to 40 characters in the error', () => {
    expect(() => protocolVersionOf('9'.repeat(10_000))).toThrow(
      expect.objectContaining({ details: { version: '9'.repeat(40) } }),
    );
  });
});

describe('The check of the Content-Type header', () => {
  it.each([
    ['application/json'],
    ['Application/JSON'],
    ['application/json; charset=utf-8'],
    ['application/json;charset="UTF-8"'],
    ['application/json;'],
    ['application/json ; ;; '],
    ['application/json; profile=x'],
    ['application/json; v=1'],
    ['application/json; charset=utf8'],
    ['application/json; charset = "utf\\-8" ; v=1'],
    ['application/json; charset=utf-8; x=1'],
    ['application/json; charset='],
    ['application/json; charset=""'],
    ['application/json; charset'],
    ['application/json; =; =x; x'],
    ['application/json; profile="a; charset=latin1"'],
    ['application/json; profile="a\\"; charset=latin1"'],
    ['application/json; x-charset=latin1'],
    ['application/json; charset=utf-8; charset=UTF8'],
    ['\tapplication/json\t'],
  ])('accepts %j', (contentType) => {
    expect(() => checkMediaType({ contentType })).not.toThrow();
  });

  it.each([
    [undefined],
    [''],
    ['text/plain'],
    ['application/json5'],
    ['application/jsonx'],
    ['application/a2a+json'],
    ['application/json; charset=latin1'],
    ['application/json; v=1; CHARSET="ISO-8859-1"'],
    ['application/json; charset=utf-16'],
    ['application/json; charset=us-ascii'],
    ['application/json; charset=utf-7'],
    ["application/json; charset='utf-8'"],
    ['application/json; charset=utf-8; charset=latin1'],
    ['application/json; profile="a"; charset=latin1'],
    ['application/json; charset=utf-8, text/plain'],
    ['application/json, text/plain'],
    ['application/json, application/json'],
    ['"application/json"'],
    ['application/ json'],
    ['application'],
    [';'],
    ['multipart/form-data; boundary=x'],
  ])('rejects %j', (contentType) => {
    expect(() => checkMediaType({ contentType })).toThrow(expect.objectContaining({ kind: 'UnsupportedMediaType' }));
  });

  it('names the charset that it rejects', () => {
    expect(() => checkMediaType({ contentType: 'application/json; charset=latin1' })).toThrow(
      'Content-Type: the charset "latin1" is not supported; send UTF-8',
    );
  });

  it('accepts application/a2a+json if the binding allows it', () => {
    const accepted = [JSON_MEDIA_TYPE, A2A_JSON_MEDIA_TYPE];
    expect(() => checkMediaType({ contentType: 'application/a2a+json' }, accepted)).not.toThrow();
  });

  it.each([['gzip'], ['br'], ['gzip, identity']])('rejects the content encoding %s', (contentEncoding) => {
    expect(() => checkMediaType({ contentType: 'application/json', contentEncoding })).toThrow(
      expect.objectContaining({ kind: 'UnsupportedMediaType' }),
    );
  });

  it('accepts the content encoding identity', () => {
    expect(() => checkMediaType({ contentType: 'application/json', contentEncoding: 'identity' })).not.toThrow();
  });
});

describe('The extensions header', () => {
  const offered = [{ uri: 'https://x.test/a' }, { uri: 'https://x.test/b', required: true }];

  it('activates the offered extensions that it names', () => {
    const named = { 'a2a-extensions': 'https://x.test/b , https://x.test/unknown' };
    expect(activeExtensions(named, offered)).toEqual({ header: 'A2A-Extensions', uris: ['https://x.test/b'] });
    const repeated = { 'x-a2a-extensions': ['https://x.test/a', 'https://x.test/b'] };
    expect(activeExtensions(repeated, offered)).toMatchObject({ header: 'X-A2A-Extensions', uris: { length: 2 } });
  });

  // [A2A-CAP-4]
  it('is rejected if it does not name a required extension', () => {
    expect(() => activeExtensions({}, offered)).toThrow(
      expect.objectContaining({ kind: 'ExtensionSupportRequired', details: { extension: 'https://x.test/b' } }),
    );
  });
});

describe('The media type of an HTTP+JSON response', () => {
  it.each([
    [undefined],
    [''],
    ['*/*'],
    ['application/json'],
    ['text/html'],
    ['application/a2a+json, application/json'],
    ['application/a2a+json;q=0.5, */*;q=0.8'],
    ['application/a2a+json;q=0'],
  ])('is application/json for Accept: %s', (accept) => {
    expect(responseMediaType(accept)).toBe(JSON_MEDIA_TYPE);
  });

  it.each([
    ['application/a2a+json'],
    ['text/html, Application/A2A+JSON ; charset=utf-8'],
    ['application/json;q=0.9, application/a2a+json'],
    ['application/a2a+json, */*;q=0.1'],
  ])('is application/a2a+json for Accept: %s', (accept) => {
    expect(responseMediaType(accept)).toBe(A2A_JSON_MEDIA_TYPE);
  });
});

describe('The media type of a JSON-RPC error of a streaming method', () => {
  it.each([
    ['text/event-stream'],
    ['Text/Event-Stream; charset=utf-8'],
    ['text/event-stream, application/json;q=0.9'],
    ['text/event-stream, */*;q=0.1'],
    ['*/*, text/event-stream'],
  ])('is text/event-stream for Accept: %s', (accept) => {
    expect(prefersEventStream(accept)).toBe(true);
  });

  it.each([
    [undefined],
    [''],
    ['*/*'],
    ['application/json'],
    ['application/json, text/event-stream'],
    ['text/event-stream;q=0.5, */*'],
    ['text/*'],
    ['text/event-stream;q=0'],
    ['text/event-streams'],
  ])('is application/json for Accept: %s', (accept) => {
    expect(prefersEventStream(accept)).toBe(false);
  });
});
