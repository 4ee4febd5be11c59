/** How fast work goes, measured since this object was made (a resumed build's earlier work doesn't count). */
export class Pace {
  private readonly started = performance.now();

  /** @param before units, and @param beforeShare the share of the work, that were done before. */
  constructor(
    private readonly before = 0,
    private readonly beforeShare = 0,
  ) {}

  /** `12,288 passages, 840/s, 3 min left`: `done` units so far, which are `share` (0 to 1) of the work. */
  words(done: number, unit: string, share: number): string {
    const seconds = (performance.now() - this.started) / 1000;
    const parts = [`${done.toLocaleString("en")} ${unit}`];
    const perSecond = (done - this.before) / Math.max(seconds, 1e-3);
    if (done > this.before) parts.push(`${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString("en")}/s`);
    const gained = share - this.beforeShare;
    if (gained > 0 && share < 1) parts.push(`${durationText((seconds / gained) * (1 - share))} left`);
    return parts.join(", ");
  }
}

/** `45 s`, `3 min`, `2 h 5 min` */
export function durationText(seconds: number): string {
  if (seconds < 59.5) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 > 0 ? ` ${minutes % 60} min` : ""}`;
}
