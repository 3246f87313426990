// The local clock of a time zone, with its hours that are skipped and those that come twice.

const QUARTER = 900_000; // milliseconds; a zone changes its offset at a quarter of an hour only
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const clocks = /** @type {Map<string, ReturnType<typeof made>>} */ (new Map()); // each knows the offsets that it was asked for

/**
 * The same clock for each call. A local time is milliseconds since the epoch, as if the place were at UTC.
 * @param {string} timeZone
 */
export function wallClock(timeZone) {
  const clock = clocks.get(timeZone) ?? made(timeZone);
  clocks.set(timeZone, clock);
  return clock;
}

/** An offset as in ISO 8601, such as +05:30. @param {number} offset milliseconds */
export function signed(offset) {
  const minutes = Math.round(Math.abs(offset) / MINUTE);
  return (offset < 0 ? "-" : "+") + [Math.floor(minutes / 60), minutes % 60].map((each) => String(each).padStart(2, "0")).join(":");
}

/** @param {string} timeZone */
function made(timeZone) {
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

  /** @type {(at: number) => string} ISO 8601, with the offset. */
  function iso(at) {
    return new Date(local(at)).toISOString().replace("Z", offset(at) ? signed(offset(at)) : "Z");
  }

  /** @type {(time: number) => number[]} The instants of a local time: none if it is skipped, two if it comes twice. */
  const instants = (time) => [...new Set([offset(time - DAY), offset(time + DAY)])].map((ahead) => time - ahead).filter((at) => local(at) === time).sort((a, b) => a - b);

  /** @type {(time: number) => number | null} The first of them. */
  const instant = (time) => instants(time)[0] ?? null;

  /** @type {(from: number, to: number, step: number) => number[]} The instants of round local times between two instants. Up to steps of an hour, those that come twice are there twice. */
  function marks(from, to, step) {
    const [first, last] = [Math.min(local(from), from + offset(to)), Math.max(local(to), to + offset(from))];
    const found = [];
    for (let time = Math.ceil(first / step) * step; time <= last; time += step) found.push(...instants(time).slice(0, step > HOUR ? 1 : 2));
    return found.filter((at) => at >= from && at <= to).sort((a, b) => a - b);
  }

  return { local, iso, instant, instants, marks, offset };
}
