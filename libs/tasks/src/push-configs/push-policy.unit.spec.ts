import { describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import { PushPolicy } from './push-policy.js';

describe('PushPolicy', () => {
  const strict = new PushPolicy(true, false);
  const rejectedField = (url: string, more: object = {}) => {
    try {
      strict.check({ url, ...more });
    } catch (error) {
      if (DomainError.is(error, 'InvalidParameters')) return error.details.violations[0]!.field;
      throw error;
    }
    return null;
  };

  it.each([
    'http://example.com/hook',
    'https://user:word@example.com/hook',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fd00::1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/',
    'https://hook.localhost/',
  ])('rejects the target %s', (url) => {
    expect(rejectedField(url)).toBe('url');
  });

  it('accepts a target on a public host', () => {
    expect(rejectedField('https://example.com:8443/hook?task=1')).toBeNull();
    expect(rejectedField('https://8.8.8.8/')).toBeNull();
  });

  it('accepts any host, also without TLS, if private targets are allowed', () => {
    new PushPolicy(true, true).check({ url: 'http://127.0.0.1:9999/hook' });
  });

  it('rejects line breaks in values that are sent as headers', () => {
    expect(rejectedField('https://example.com/', { token: 'a\r\nX-Other: b' })).toBe('token');
    expect(rejectedField('https://example.com/', { authentication: { scheme: 'Bearer', credentials: 'a\nb' } })).toBe(
      'authentication.credentials',
    );
    expect(rejectedField('https://example.com/', { authentication: { scheme: 'Bea\rrer' } })).toBe(
      'authentication.scheme',
    );
  });

  it('rejects webhooks with its own error if the server does not offer them', () => {
    expect(() => new PushPolicy(false, true).requireOffered()).toThrow('does not offer push notifications');
  });
});
