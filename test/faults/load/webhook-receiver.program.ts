import { WebhookReceiver, stateIn } from '../../support/clients/webhook-receiver.js';
import { Random } from './random.js';

/** What a webhook was told, whatever it answered. */
export interface WebhookReport {
  /** Name of the delivery: the same when it is repeated. */
  readonly delivery: string;
  /** Absent for an artifact. */
  readonly state?: string;
}

const REFUSED = 0.03;
const LOST = 0.03;

// Said before it is answered: what was taken is known, also when this process ends before the answer is out.
const random = new Random(process.pid);
const hook = await WebhookReceiver.start((push) => {
  if (random.chance(REFUSED)) return 503;
  const delivery = String(push.headers['x-acta-delivery']);
  console.log(JSON.stringify({ delivery, state: stateIn(push) } satisfies WebhookReport));
  // As good as an answer that got lost: it must be told again.
  return random.chance(LOST) ? 500 : 200;
}, Number(process.env['PORT']));
process.once('SIGTERM', () => process.exit(0));
console.log(`a webhook listens on ${hook.urlOf('')}`);
