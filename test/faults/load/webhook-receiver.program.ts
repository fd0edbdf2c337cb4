import { WebhookReceiver, stateIn } from '../../support/clients/webhook-receiver.js';
import { Random } from './random.js';

/** A webhook that this program received, whatever its response was. */
export interface WebhookReport {
  /** The id of the delivery, which is the same for each attempt. */
  readonly delivery: string;
  /** Absent for an artifact. */
  readonly state?: string;
}

/** Probabilities of a 503 before, and of a 500 after the webhook is reported. */
const REJECTED = 0.03;
const LOST = 0.03;

// The report is printed before the response is sent, so that it exists even if this process is killed in between.
const random = new Random(process.pid);
const receiver = await WebhookReceiver.start((webhook) => {
  if (random.chance(REJECTED)) return 503;
  const delivery = String(webhook.headers['x-acta-delivery']);
  console.log(JSON.stringify({ delivery, state: stateIn(webhook) } satisfies WebhookReport));
  // Equivalent to a lost response: the delivery must be repeated.
  return random.chance(LOST) ? 500 : 200;
}, Number(process.env['PORT']));
process.once('SIGTERM', () => process.exit(0));
console.log(`the webhook listens on ${receiver.urlOf('')}`);
