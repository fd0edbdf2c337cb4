import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent, AgentContext } from './agent.contract.js';

const MAX_SLEEP_S = 3_600;
const MAX_CHUNKS = 10_000;

/**
 * Returns the text in upper case as its artifact. Words in the text control the agent, for experiments: `sleep 3s`,
 * `chunks 5`, `ask`, `auth`, `fail`, `reject`, `reply`. With `faults`, the message `crash` ends the process.
 */
export function demoAgent({ faults }: { readonly faults: boolean }): Agent {
  return {
    name: 'demo',
    description: 'Upper-cases its text; words in the text make it sleep, stream, ask, fail or reply',
    version: '1.0.0',
    skills: [
      {
        id: 'upper-case',
        name: 'Upper-case',
        description: 'Returns the text in upper case',
        tags: ['demo', 'text'],
        examples: ['hello', 'hello chunks 3', 'hello sleep 2s'],
      },
    ],
    async run(ctx) {
      const { text } = ctx;
      if (faults && text.trim() === 'crash') process.kill(process.pid, 'SIGKILL');
      const hasWord = (word: string) => new RegExp(`\\b${word}\\b`, 'i').test(text);
      if (hasWord('reply')) return ctx.reply(text.toUpperCase());
      if (hasWord('reject')) return ctx.reject('The text contains `reject`.');
      const seconds = /\bsleep (\d+(?:\.\d+)?)\s*(ms|s)\b/i.exec(text);
      if (seconds !== null) {
        await ctx.working('sleeping');
        const unit = seconds[2]!.toLowerCase() === 'ms' ? 1 : 1_000;
        await sleep(Math.min(Number(seconds[1]) * unit, MAX_SLEEP_S * 1_000), undefined, { signal: ctx.signal });
      }
      if (hasWord('fail')) return ctx.fail('The text contains `fail`.');
      if (hasWord('ask')) return ctx.requireInput('What should I upper-case?');
      if (hasWord('auth')) return ctx.requireAuth('Please authorize me, then send any message.');
      await publish(ctx, text.toUpperCase());
    },
  };
}

async function publish(ctx: AgentContext, text: string): Promise<void> {
  const requested = Number(/\bchunks (\d+)\b/i.exec(ctx.text)?.[1] ?? 1);
  const chunks = Math.min(Math.max(requested, 1), MAX_CHUNKS, Math.max(text.length, 1));
  for (let index = 0; index < chunks; index += 1) {
    const start = Math.floor((index * text.length) / chunks);
    const end = Math.floor(((index + 1) * text.length) / chunks);
    const last = index === chunks - 1;
    // Only the first chunk has the name, because a chunk with a name is not merged into the text before it.
    const name = index === 0 ? { name: 'Upper-cased text' } : {};
    await ctx.artifact({ id: 'text', ...name, parts: [{ text: text.slice(start, end) }], last });
  }
}
