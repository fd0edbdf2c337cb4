import { A2A_STEPS } from './a2a.steps.js';
import type { DemoStep } from './demo-step.js';
import { OPERATIONS_STEPS } from './operations.steps.js';
import { REST_STEPS } from './rest.steps.js';
import { V03_STEPS } from './v03.steps.js';

/** The steps for every API of the server, in the order of execution. */
export const DEMO_STEPS: readonly DemoStep[] = [...OPERATIONS_STEPS, ...A2A_STEPS, ...V03_STEPS, ...REST_STEPS];
