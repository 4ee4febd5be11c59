/** How fast work goes, measured since this object was made: what a resumed build did before doesn't count. */
export class Pace {
  private readonly started = performance.now();

  /** @param before units that were done before. */
  constructor(private readonly before = 0) {}

  /** `840 passages/s`, empty while nothing is done. */
  words(done: number): string {
    const seconds = (performance.now() - this.started) / 1000;
    const perSecond = (done - this.before) / Math.max(seconds, 1e-3);
    if (perSecond <= 0) return "";
    return `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString("en")} passages/s`;
  }
}
