import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent, AgentContext } from './agent.contract.js';

const MAX_SLEEP_S = 3_600;
const MAX_CHUNKS = 10_000;

/**
 * Upper-cases the text as its artifact. Words in the text steer it, for trying things out: `sleep 3s`, `chunks 5`, `ask`,
 * `auth`, `fail`, `reject`, `reply`; and `crash` as the whole message, which ends the process, where faults are allowed.
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
        description: 'Gives the text back in capitals',
        tags: ['demo', 'text'],
        examples: ['hello', 'hello chunks 3', 'hello sleep 2s'],
      },
    ],
    async run(ctx) {
      const { text } = ctx;
      if (faults && text.trim() === 'crash') process.kill(process.pid, 'SIGKILL');
      const says = (word: string) => new RegExp(`\\b${word}\\b`, 'i').test(text);
      if (says('reply')) return ctx.reply(text.toUpperCase());
      if (says('reject')) return ctx.reject('rejected, as asked');
      const seconds = /\bsleep (\d+(?:\.\d+)?)\s*(ms|s)\b/i.exec(text);
      if (seconds !== null) {
        await ctx.working('sleeping');
        const unit = seconds[2]!.toLowerCase() === 'ms' ? 1 : 1_000;
        await sleep(Math.min(Number(seconds[1]) * unit, MAX_SLEEP_S * 1_000), undefined, { signal: ctx.signal });
      }
      if (says('fail')) return ctx.fail('failed, as asked');
      if (says('ask')) return ctx.requireInput('What should I upper-case?');
      if (says('auth')) return ctx.requireAuth('Please authorize me, then send any message.');
      await publish(ctx, text.toUpperCase());
    },
  };
}

async function publish(ctx: AgentContext, text: string): Promise<void> {
  const wanted = Number(/\bchunks (\d+)\b/i.exec(ctx.text)?.[1] ?? 1);
  const chunks = Math.min(Math.max(wanted, 1), MAX_CHUNKS, Math.max(text.length, 1));
  for (let at = 0; at < chunks; at += 1) {
    const from = Math.floor((at * text.length) / chunks);
    const to = Math.floor(((at + 1) * text.length) / chunks);
    const last = at === chunks - 1;
    // Named once: what goes on a text without a name of its own becomes one part with it.
    const name = at === 0 ? { name: 'Upper-cased text' } : {};
    await ctx.artifact({ id: 'text', ...name, parts: [{ text: text.slice(from, to) }], last });
  }
}
