import type { Principal } from '@app/domain';

/** How many of something each caller has in this process. */
export class PerCaller {
  private readonly counts = new Map<string, number>();

  of(principal: Principal): number {
    return this.counts.get(nameOf(principal)) ?? 0;
  }

  /** One more, until it is given back with what this gives. */
  add(principal: Principal): () => void {
    const name = nameOf(principal);
    this.counts.set(name, this.of(principal) + 1);
    return () => {
      const left = this.counts.get(name)! - 1;
      if (left === 0) this.counts.delete(name);
      else this.counts.set(name, left);
    };
  }
}

const nameOf = ({ tenantId, subject }: Principal): string => `${tenantId}\n${subject}`;
