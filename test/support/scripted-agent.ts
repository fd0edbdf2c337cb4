import { textOf } from '@app/domain';
import type { Agent, AgentContext } from '../../libs/execution/src/agents/agent.contract.js';

type Script = (ctx: AgentContext) => Promise<void> | void;

/** An agent that runs the script that a test registered for the text of the task's first message. */
export class ScriptedAgent {
  private readonly scripts = new Map<string, Script>();

  constructor(private readonly changes: Partial<Agent> = {}) {}

  get definition(): Agent {
    return {
      name: 'scripted',
      description: 'runs the script of a test',
      version: '1.0.0',
      skills: [{ id: 'test', name: 'Test', description: 'tests', tags: [] }],
      run: (ctx) => this.scripts.get(textOf(ctx.history.find(({ role }) => role === 'user') ?? ctx.message))?.(ctx),
      ...this.changes,
    };
  }

  on(text: string, script: Script): void {
    this.scripts.set(text, script);
  }
}

/** A latch that a test opens. Everything that awaits `opened` continues then. */
export class Latch {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

/** Resolves when the run is aborted. */
export const untilAborted = ({ signal }: Pick<AgentContext, 'signal'>): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
