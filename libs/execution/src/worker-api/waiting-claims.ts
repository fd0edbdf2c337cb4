import { DomainError, type Principal } from '@app/domain';
import { filter, interval, merge, type Observable } from 'rxjs';

/** Each costs a connection of HTTP, and nothing of the database while nothing comes. */
const LIMITS = { ofWorker: 1_000, inAll: 5_000 };
const RETRY_AFTER_SECONDS = 5;

/**
 * Claims that wait for work. Those that would find the same stand in one line: a wake-up goes to the first of it, and to
 * the next one only when the first has found something. Else each task would set off a query of everyone who waits.
 */
export class WaitingClaims {
  private readonly lines = new Map<string, { readonly line: Line; readonly close: () => void; members: number }>();
  private readonly perWorker = new Map<string, number>();
  private all = 0;

  constructor(
    private readonly queued: Observable<string>,
    /** How long a line waits for a wake-up before its first one looks again all the same. */
    private readonly pollMs: number,
    private readonly limits = LIMITS,
  ) {}

  /** Looks, and again whenever its turn comes, until it finds something or is over: then nothing. Errors: Overloaded. */
  async untilFound<T>(
    worker: Principal,
    agents: readonly string[],
    over: AbortSignal,
    look: () => Promise<T[]>,
  ): Promise<T[]> {
    this.admit(worker);
    // Stands in line before it looks: what is queued in between is heard.
    const { line, leave } = this.join(worker, agents);
    try {
      let found = await look();
      while (found.length === 0 && !over.aborted) found = await line.turn(over, look);
      return found;
    } finally {
      leave();
    }
  }

  private admit({ tenantId, subject }: Principal): void {
    const { ofWorker, inAll } = this.limits;
    const own = this.perWorker.get(nameOf(tenantId, subject)) ?? 0;
    if (own >= ofWorker) throw overloaded(`${ofWorker} claims of this worker wait already`);
    if (this.all >= inAll) throw overloaded('the server has as many waiting claims as it takes');
  }

  private join({ tenantId, subject, rings }: Principal, agents: readonly string[]) {
    const worker = nameOf(tenantId, subject);
    const scope = JSON.stringify([tenantId, agents.toSorted(), rings.toSorted()]);
    const found = this.lines.get(scope) ?? { ...this.open(agents), members: 0 };
    this.lines.set(scope, found);
    found.members += 1;
    this.perWorker.set(worker, (this.perWorker.get(worker) ?? 0) + 1);
    this.all += 1;
    const leave = () => {
      this.all -= 1;
      const left = this.perWorker.get(worker)! - 1;
      if (left === 0) this.perWorker.delete(worker);
      else this.perWorker.set(worker, left);
      found.members -= 1;
      if (found.members > 0) return;
      this.lines.delete(scope);
      found.close();
    };
    return { line: found.line, leave };
  }

  private open(agents: readonly string[]) {
    const line = new Line();
    const wakeups = merge(this.queued.pipe(filter((agent) => agents.includes(agent))), interval(this.pollMs));
    const subscription = wakeups.subscribe(() => line.ring());
    return { line, close: () => subscription.unsubscribe() };
  }
}

/** One looks at a time. */
class Line {
  private readonly waiting = new Set<() => void>();
  private rung = false;
  private looking = false;

  ring(): void {
    this.rung = true;
    this.callNext();
  }

  /** Waits for its turn, and looks; nothing when it is over before. */
  async turn<T>(over: AbortSignal, look: () => Promise<T[]>): Promise<T[]> {
    if (!(await this.called(over))) return [];
    // Where something was there may be more, and who could not look, or failed to, leaves its turn to the next.
    let more = true;
    try {
      if (over.aborted) return [];
      const found = await look();
      more = found.length > 0;
      return found;
    } finally {
      if (more) this.rung = true;
      this.looking = false;
      this.callNext();
    }
  }

  private called(over: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const call = () => {
        over.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = () => {
        this.waiting.delete(call);
        resolve(false);
      };
      over.addEventListener('abort', leave, { once: true });
      this.waiting.add(call);
      this.callNext();
    });
  }

  private callNext(): void {
    const [first] = this.waiting;
    if (!this.rung || this.looking || first === undefined) return;
    this.waiting.delete(first);
    this.rung = false;
    this.looking = true;
    first();
  }
}

const nameOf = (tenantId: string, subject: string) => `${tenantId}\n${subject}`;

const overloaded = (why: string) =>
  new DomainError('Overloaded', `${why}; claim again later`, { retryAfterSeconds: RETRY_AFTER_SECONDS });
