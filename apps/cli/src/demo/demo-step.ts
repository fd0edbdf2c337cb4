import type { DemoClient } from './demo-client.js';

/** One interaction of a client with the server, and the checks of its result. */
export interface DemoStep {
  readonly name: string;
  /** Calls `showTimeline` for the tasks whose timelines the demo prints at the end. */
  readonly run: (client: DemoClient, showTimeline: (taskId: string) => void) => Promise<void>;
}

export const step = (name: string, run: DemoStep['run']): DemoStep => ({ name, run });

/** The text of a task that still runs when the demo cancels it. */
export const SLOW = 'sleep 60s';
