interface Lane {
  inFlight: number;
  limit: number;
}

/** Lanes kept for places that answer well, after which the one that was used longest ago is forgotten. */
const KEPT = 1_000;

/**
 * How much goes to one place at a time. A place starts with little and gets more while it answers; one failure takes it
 * back to the start. So a place that never answers holds what it started with, and no more.
 */
export class PushLanes {
  private readonly lanes = new Map<string, Lane>();

  constructor(
    private readonly start: number,
    private readonly max: number,
  ) {}

  enter(name: string): void {
    const lane = this.lanes.get(name) ?? { inFlight: 0, limit: this.start };
    lane.inFlight += 1;
    this.lanes.delete(name);
    this.lanes.set(name, lane);
  }

  answered(name: string, well: boolean): void {
    const lane = this.lanes.get(name);
    if (lane !== undefined) lane.limit = well ? Math.min(lane.limit * 2, this.max) : this.start;
  }

  leave(name: string): void {
    const lane = this.lanes.get(name);
    if (lane === undefined) return;
    lane.inFlight -= 1;
    // At its start it is like one that was never seen.
    if (lane.inFlight === 0 && lane.limit === this.start) this.lanes.delete(name);
    if (this.lanes.size > KEPT) this.forgetOne();
  }

  /** Names of the places that get nothing more for now. */
  full(): string[] {
    return [...this.lanes].filter(([, lane]) => lane.inFlight >= lane.limit).map(([name]) => name);
  }

  private forgetOne(): void {
    for (const [name, { inFlight }] of this.lanes) {
      if (inFlight > 0) continue;
      this.lanes.delete(name);
      return;
    }
  }
}
