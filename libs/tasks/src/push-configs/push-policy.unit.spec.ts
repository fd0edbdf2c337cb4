import { describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import { PushPolicy } from './push-policy.js';

describe('a webhook', () => {
  const strict = new PushPolicy(true, false);
  const refused = (url: string, more: object = {}) => {
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
  ])('at %s is refused when it is set', (url) => {
    expect(refused(url)).toBe('url');
  });

  it('on a public host is taken', () => {
    expect(refused('https://example.com:8443/hook?task=1')).toBeNull();
    expect(refused('https://8.8.8.8/')).toBeNull();
  });

  it('may be on any host, and without TLS, where that is allowed', () => {
    new PushPolicy(true, true).check({ url: 'http://127.0.0.1:9999/hook' });
  });

  it('has nothing in its headers that could start another', () => {
    expect(refused('https://example.com/', { token: 'a\r\nX-Other: b' })).toBe('token');
    expect(refused('https://example.com/', { authentication: { scheme: 'Bearer', credentials: 'a\nb' } })).toBe(
      'authentication.credentials',
    );
    expect(refused('https://example.com/', { authentication: { scheme: 'Bea\rrer' } })).toBe('authentication.scheme');
  });

  it('is refused in words of its own where pushes are not offered', () => {
    expect(() => new PushPolicy(false, true).requireOffered()).toThrow('does not send push notifications');
  });
});
