import { textOf } from '@app/domain';
import type { Agent, AgentContext } from '@app/execution';

type Script = (ctx: AgentContext) => Promise<void> | void;

/** An agent that follows the script which a test gave for the first message of the task. */
export class ScriptedAgent {
  private readonly scripts = new Map<string, Script>();

  constructor(private readonly changes: Partial<Agent> = {}) {}

  get definition(): Agent {
    return {
      name: 'scripted',
      description: 'does what a test says',
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

/** A door that a test opens: whoever waits at it goes on then. */
export class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

/** Resolves when the run is told to stop. */
export const untilAborted = ({ signal }: Pick<AgentContext, 'signal'>): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
