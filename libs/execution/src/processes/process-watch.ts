import { residentBytes } from './process-limits.js';
import { RESPONSIVE_MS } from './channel/protocol.js';

interface WatchLimits {
  readonly unresponsiveMs: number;
  readonly memoryMiB: number;
}

interface WatchActions {
  ping(sentMs: number): void;
  /** Called once each time that the process stops responding. */
  onUnresponsive(): void;
  kill(cause: string): void;
}

const PING_MS = 1_000;
/** Memory can grow by gigabytes per second. Reading /proc is cheap, starting `ps` is not. */
const MEMORY_MS = process.platform === 'linux' ? 200 : 1_000;

/** Watches from outside whether a process responds, and how much memory it uses. */
export class ProcessWatch {
  private timers: NodeJS.Timeout[] = [];
  private isAwaitingPong = false;
  private silentMs = 0;
  private lastTick = 0;
  private isMeasuring = false;

  constructor(
    private readonly pid: number,
    private readonly limits: WatchLimits,
    private readonly actions: WatchActions,
  ) {}

  get isResponsive(): boolean {
    return this.silentMs < RESPONSIVE_MS;
  }

  start(): void {
    this.lastTick = performance.now();
    this.timers = [setInterval(() => this.tick(), PING_MS / 2), setInterval(() => void this.measure(), MEMORY_MS)];
    for (const timer of this.timers) timer.unref();
    this.ping();
  }

  stop(): void {
    this.timers.forEach(clearInterval);
  }

  onPong(): void {
    this.isAwaitingPong = false;
    this.silentMs = 0;
  }

  /** Counts the time in ticks, because this process may have been stopped itself since the last one. */
  private tick(): void {
    const now = performance.now();
    const elapsed = Math.min(now - this.lastTick, PING_MS);
    this.lastTick = now;
    if (!this.isAwaitingPong) {
      this.ping();
      return;
    }
    const wasResponsive = this.isResponsive;
    this.silentMs += elapsed;
    if (wasResponsive && !this.isResponsive) this.actions.onUnresponsive();
    const { unresponsiveMs } = this.limits;
    if (this.silentMs >= unresponsiveMs) {
      this.actions.kill(`agent process did not respond for ${unresponsiveMs / 1_000} s`);
    }
  }

  private ping(): void {
    this.isAwaitingPong = true;
    this.actions.ping(Number(process.hrtime.bigint() / 1_000_000n));
  }

  private async measure(): Promise<void> {
    if (this.isMeasuring) return;
    this.isMeasuring = true;
    const bytes = await residentBytes(this.pid);
    this.isMeasuring = false;
    if (bytes === null || bytes <= this.limits.memoryMiB * 1_024 * 1_024) return;
    this.actions.kill(`agent process used more than ${this.limits.memoryMiB} MiB of memory`);
  }
}
