import type { OutputOptions } from '../options.js';

const WIDTH = 30;
const EVERY_MS = 100;
/** Short work shows no bar at all. */
const AFTER_MS = 500;

/** A bar on stderr for long work, where a person looks at it. */
export class Progress {
  private readonly shown: boolean;
  private done = 0;
  private next = Date.now() + AFTER_MS;
  private drawn = false;

  constructor(
    private readonly what: string,
    private readonly total: number,
    { json }: OutputOptions,
  ) {
    this.shown = process.stderr.isTTY && json !== true;
  }

  advance(by: number): void {
    this.done += by;
    if (!this.shown || Date.now() < this.next) return;
    this.next = Date.now() + EVERY_MS;
    this.drawn = true;
    process.stderr.write(`\r\u001b[2K${progressBar(this.what, this.done, this.total)}`);
  }

  /** Takes the bar away, for what is printed next. */
  clear(): void {
    if (this.drawn) process.stderr.write('\r\u001b[2K');
    this.drawn = false;
  }
}

/** The total may have been counted before more was written. */
export function progressBar(what: string, done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * WIDTH);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${done} of ${Math.max(done, total)} ${what}`;
}
