import type { DemoClient } from './demo-client.js';

/** One thing that a client does, and what must come of it. */
export interface DemoStep {
  readonly name: string;
  /** Tells the tasks whose timelines are worth a look. */
  readonly run: (client: DemoClient, saw: (taskId: string) => void) => Promise<void>;
}

export const step = (name: string, run: DemoStep['run']): DemoStep => ({ name, run });

/** Long enough to be seen at work, and to be cancelled there. */
export const SLOW = 'sleep 60s';
