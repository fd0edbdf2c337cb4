import { pluralize } from '@app/domain';
import type { OutputOptions } from '../options.js';

const WIDTH = 30;
const REDRAW_INTERVAL_MS = 100;
/** An operation that ends earlier shows no bar. */
const FIRST_DRAW_MS = 500;

/** Shows a progress bar on stderr during a long operation, on a terminal only. */
export class Progress {
  private readonly enabled: boolean;
  private done = 0;
  private nextDraw = Date.now() + FIRST_DRAW_MS;
  private drawn = false;

  constructor(
    private readonly noun: string,
    private readonly total: number,
    { json }: OutputOptions,
  ) {
    this.enabled = process.stderr.isTTY && json !== true;
  }

  advance(by: number): void {
    this.done += by;
    if (!this.enabled || Date.now() < this.nextDraw) return;
    this.nextDraw = Date.now() + REDRAW_INTERVAL_MS;
    this.drawn = true;
    process.stderr.write(`\r\u001b[2K${progressBar(this.noun, this.done, this.total)}`);
  }

  /** Removes the bar before other output. */
  clear(): void {
    if (this.drawn) process.stderr.write('\r\u001b[2K');
    this.drawn = false;
  }
}

/** Formats the bar. `done` can exceed `total`, which was counted before the operation. */
export function progressBar(noun: string, done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * WIDTH);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
  const max = Math.max(done, total);
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${done} of ${max} ${pluralize(noun, max)}`;
}
