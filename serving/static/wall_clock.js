// The local clock of a time zone, with its hours that are skipped and those that come twice.

const QUARTER = 900_000; // milliseconds; a zone changes its offset at a quarter of an hour only
const DAY = 86_400_000;

/**
 * A local time is milliseconds since the epoch, as if the place were at UTC.
 * @param {string} timeZone
 */
export function wallClock(timeZone) {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
  const offsets = /** @type {Map<number, number>} */ (new Map());

  /** @type {(at: number) => number} By how much the local time is ahead of UTC at an instant. */
  function offset(at) {
    const quarter = Math.floor(at / QUARTER) * QUARTER;
    const known = offsets.get(quarter);
    if (known !== undefined) return known;
    const parts = Object.fromEntries(format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]));
    const ahead = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second) - quarter;
    offsets.set(quarter, ahead);
    return ahead;
  }

  /** @type {(at: number) => number} */
  const local = (at) => at + offset(at);

  /** @type {(time: number) => number[]} The instants of a local time: none if it is skipped, two if it comes twice. */
  const instants = (time) => [...new Set([offset(time - DAY), offset(time + DAY)])].map((ahead) => time - ahead).filter((at) => local(at) === time).sort((a, b) => a - b);

  /** @type {(time: number) => number | null} The first instant of a local time; null if it is skipped. */
  const instant = (time) => instants(time)[0] ?? null;

  return { local, instant, instants, offset };
}
