/** Seconds, up to `most`, that a Retry-After header, a number of them or a date (RFC 9110, section 10.2.3), asks to wait for; 0 where there is none. */
export function retryAfterSeconds(header: string | null | undefined, most: number): number {
  if (header === null || header === undefined) return 0;
  const number = Number(header);
  const seconds = Number.isNaN(number) ? (Date.parse(header) - Date.now()) / 1000 : number;
  return Number.isFinite(seconds) ? Math.min(most, Math.max(0, seconds)) : 0;
}
