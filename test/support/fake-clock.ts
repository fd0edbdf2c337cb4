/** A clock that moves only when `advance` is called. */
export class FakeClock {
  private time: number;

  constructor(start = '2026-01-01T00:00:00.000Z') {
    this.time = Date.parse(start);
  }

  readonly now = (): Date => new Date(this.time);

  advance(ms: number): void {
    this.time += ms;
  }
}
