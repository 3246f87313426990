// The server's time. The browser's clock may be wrong, and may be set while the page is open.

let ahead = Number.NaN; // milliseconds by which the server's time is ahead of performance.now(), which nobody sets

/**
 * Takes the time from an answer. `asked` and `answered`: performance.now() before and after.
 * @param {string} at
 * @param {number} asked
 * @param {number} answered
 */
export function takeTime(at, asked, answered) {
  ahead = Date.parse(at) - (asked + answered) / 2;
}

/** Milliseconds since the epoch; NaN before the first answer. */
export const serverNow = () => performance.now() + ahead;
