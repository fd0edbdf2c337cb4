import { expect } from '@jest/globals';
import type { JsonObject } from '@app/domain';
import { http } from '../../support/clients/rpc.js';

/** A caller of the native REST API below `/api/tasks`. */
export class NativeApi {
  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  async request(path: string, verb = 'GET'): Promise<{ status: number; body: JsonObject }> {
    const { status, text } = await http(verb, `${this.url}/api/tasks/${path}`, this.token);
    return { status, body: JSON.parse(text) as JsonObject };
  }

  /** Returns the first page of the list `name` with the default limit. */
  async list<T = JsonObject>(path: string, name: string): Promise<T[]> {
    return (await this.request(path)).body[name] as unknown as T[];
  }

  /** Reads the list `name` in pages of at most `limit` items, and returns all items. */
  async listInPages<T extends { version: number }>(path: string, name: string, limit: number): Promise<T[]> {
    const all: T[] = [];
    for (let after: number | null = 0; after !== null;) {
      const { body } = await this.request(`${path}?after=${after}&limit=${limit}`);
      const items = body[name] as unknown as T[];
      expect(items.length).toBeLessThanOrEqual(limit);
      all.push(...items);
      after = body['nextAfter'] as number | null;
    }
    return all;
  }
}
