import { describe, expect, it } from '@jest/globals';
import { decodeHttp, decodeParams, invalidFields } from '../../../../test/support/clients/decoding.js';
import { PROTOCOLS } from '../protocols.js';
import { contentUrlProblem, filenameProblem, mediaTypeProblem } from './content-rules.js';
import { native } from '../native/index.js';

const [v1, v03] = [PROTOCOLS['1.0'].codec, PROTOCOLS['0.3'].codec];

describe('The media type of a part', () => {
  it.each([
    'text/plain',
    'application/vnd.api+json',
    'text/plain; charset=utf-8',
    'audio/L16;codec=pcm;rate=24000',
    'multipart/mixed; boundary="a b"',
    'image/*',
    'application/x-my_type',
  ])('is valid as %j', (mediaType) => {
    expect(mediaTypeProblem(mediaType)).toBeUndefined();
  });

  it.each([
    'text/plain\r\nSet-Cookie: a=b',
    'text/plain\n',
    'text/\tplain',
    'text/plain; a=\u0000',
    'text/plain;\u2028',
    'text',
    '/plain',
    'text/',
    'text/plain/x',
    'text plain',
    'text/plain, text/html',
    'téxt/plain',
    `text/${'x'.repeat(300)}`,
  ])('is invalid as %j', (mediaType) => {
    expect(mediaTypeProblem(mediaType)).toMatch(/^must /);
  });
});

describe('The file name of a part', () => {
  it.each(['a.txt', 'Bericht (neu) 100%.pdf', '報告書.pdf', '👩‍🔬.png', '../a', 'C:\\a'])(
    'is valid as %j',
    (filename) => {
      expect(filenameProblem(filename)).toBeUndefined();
    },
  );

  it.each(['a\r\nb', 'a\nb', 'a\u0000', '\ta', 'a\u007f', 'a\u0085', 'a\u2028b', 'x'.repeat(2_000)])(
    'is invalid as %j',
    (filename) => {
      expect(filenameProblem(filename)).toMatch(/^must /);
    },
  );
});

describe('The URL of a part', () => {
  it.each([
    'https://example.com/a?b=c#d',
    'HTTP://EXAMPLE.COM',
    'http://127.0.0.1:8080/',
    'http://[::1]/a',
    'gs://bucket/object',
    's3://bucket/key',
    'ftp://example.com/a',
    'artifact://app/user/session',
  ])('is valid as %j', (url) => {
    expect(contentUrlProblem(url)).toBeUndefined();
  });

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'javascript://example.com/%0aalert(1)',
    'vbscript:msgbox(1)',
    'data:text/html,<script>alert(1)</script>',
    'blob:https://example.com/1',
    'file:///etc/passwd',
    'file://host/share',
    'about:blank',
    'not a url',
    'example.com/a',
    'example.com:80/a',
    '/a',
    '//example.com/a',
    'http://',
    'https:///',
    'http://example.com:99999/',
    'https://example.com/a b',
    'mailto:a@example.com',
    'urn:x:y',
    '',
  ])('is invalid as %j', (url) => {
    expect(contentUrlProblem(url)).toMatch(/^must be an absolute URL/);
  });
});

describe('A part with invalid content', () => {
  const legacy = (part: object) => ({ message: { messageId: 'm', role: 'user', parts: [part] } });
  const proto = (part: object) => ({ message: { messageId: 'm', role: 'ROLE_USER', content: [part] } });
  const current = (part: object) => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } });
  const rpc1 = (part: object) => () => decodeParams(v1, 'SendMessage', current(part));
  const rpc03 = (part: object) => () => decodeParams(v03, 'message/send', legacy(part));
  const http03 = (part: object) => () => decodeHttp(v03, 'POST', 'message:send', { body: proto(part) });
  const publish = (part: object) => () =>
    native.decodePublish({
      leaseGeneration: 1,
      dispatcherGeneration: 1,
      seq: 1,
      outputs: [{ type: 'artifact', id: 'a', parts: [part as never] }],
    });

  it.each<[string, () => unknown]>([
    ['message.parts[0].mediaType', rpc1({ text: 'a', mediaType: 'a\nb' })],
    ['message.parts[0].mediaType', rpc1({ text: 'a', media_type: 'a\nb' })],
    ['message.parts[0].filename', rpc1({ raw: 'aGk=', filename: 'a\r\nb' })],
    ['message.parts[0].url', rpc1({ url: 'javascript:alert(1)' })],
    ['message.parts[0].url', rpc1({ url: 'not a url' })],
    ['message.parts[0].file.uri', rpc03({ kind: 'file', file: { uri: 'javascript:alert(1)' } })],
    ['message.parts[0].file.mimeType', rpc03({ kind: 'file', file: { bytes: '', mimeType: 'a\nb' } })],
    ['message.parts[0].file.name', rpc03({ kind: 'file', file: { bytes: '', name: 'a\nb' } })],
    [
      'message.parts[0].metadata.acta/mediaType',
      rpc03({ kind: 'text', text: '', metadata: { 'acta/mediaType': 'x' } }),
    ],
    ['message.parts[0].metadata.acta/filename', rpc03({ kind: 'text', text: '', metadata: { 'acta/filename': '\n' } })],
    ['message.content[0].file.fileWithUri', http03({ file: { fileWithUri: 'data:text/html,x' } })],
    ['message.content[0].file.mimeType', http03({ file: { fileWithBytes: '', mime_type: 'text' } })],
    ['outputs[0].parts[0].url', publish({ url: 'javascript:alert(1)' })],
    ['outputs[0].parts[0].mediaType', publish({ text: 'a', mediaType: 'a\nb' })],
  ])('is rejected with the path %s', (field, decode) => {
    expect(invalidFields(decode)).toEqual([field]);
  });

  it('is rejected in the accepted output modes, where names that are not media types are valid', () => {
    const modes = (...acceptedOutputModes: string[]) =>
      invalidFields(() =>
        decodeParams(v1, 'SendMessage', { ...current({ text: '' }), configuration: { acceptedOutputModes } }),
      );
    expect(modes('text', 'text/plain', '*/*')).toEqual([]);
    expect(modes('text/plain\n', 'a\u0000')).toEqual([
      'configuration.acceptedOutputModes[0]',
      'configuration.acceptedOutputModes[1]',
    ]);
  });

  it('is rejected in the URIs of extensions', () => {
    const extensions = (...uris: string[]) =>
      invalidFields(() =>
        decodeParams(v1, 'SendMessage', { message: { ...current({ text: '' }).message, extensions: uris } }),
      );
    expect(extensions('https://x.test/e', 'urn:x:y')).toEqual([]);
    expect(extensions('a\nb', 'a b')).toEqual(['message.extensions[0]', 'message.extensions[1]']);
  });
});

describe('The URL of a webhook', () => {
  const invalid = (url: string) =>
    invalidFields(() => decodeParams(v1, 'CreateTaskPushNotificationConfig', { taskId: 't', url }));

  it.each(['http://example.com:0/', 'https://example.com:0', 'http://example.com:00000/a', 'http://[::1]:0/'])(
    'is rejected with port 0 as in %s',
    (url) => {
      expect(invalid(url)).toEqual(['url']);
    },
  );

  it.each([
    'ftp://example.com',
    'javascript:alert(1)',
    'hook',
    '//example.com',
    'http://example.com:65536',
    'http://a b',
  ])('is rejected as %s', (url) => {
    expect(invalid(url)).toEqual(['url']);
  });

  it.each(['http://example.com:1/', 'https://example.com:65535/a', 'http://example.com:80'])(
    'is accepted as %s',
    (url) => {
      expect(invalid(url)).toEqual([]);
    },
  );
});
