import { describe, expect, it } from '@jest/globals';
import { childEnvironment } from './child-environment.js';

describe('childEnvironment', () => {
  it('leaves out every variable that configures Acta or its database', () => {
    const own = [
      'ACTA_SECRET_KEY',
      'ACTA_SECRET_KEY_FILE',
      'ACTA_TOKEN',
      'ACTA_OIDC_ISSUER',
      'ACTA_TLS_KEY',
      'acta_token',
    ];
    const database = ['DATABASE_URL', 'ACTA_OWNER_DATABASE_URL', 'PGPASSWORD', 'PGHOST'];
    expect(childEnvironment(Object.fromEntries([...own, ...database].map((name) => [name, 'x'])))).toEqual({});
  });

  it('keeps every other variable', () => {
    const env = { PATH: '/bin', MODEL_API_KEY: 'key', SHOP_DATABASE_URL: 'postgresql://shop', ACTIVE: '1', PG: '2' };
    expect(childEnvironment(env)).toEqual(env);
  });
});
