/** Formats a count with its noun: `1 task`, `2 tasks`. The noun forms its plural with an s. */
export const formatCount = (count: number, noun: string): string => `${count} ${pluralize(noun, count)}`;

export const pluralize = (noun: string, count: number): string => (count === 1 ? noun : `${noun}s`);
