// A dialog in which a person chooses from when to when, by the clock of the feed's time zone.

import { byId, inputById, make } from "./dom.js";
import { inWords, shortest, spanOf } from "./ranges.js";
import { wallClock } from "./wall_clock.js";

/** @import { Span } from "../page.d.ts" */

const EDGES = /** @type {const} */ (["from", "to"]);

/**
 * Opens it with a part of time, and calls `take` with the span that is chosen.
 * @param {number[]} window epoch milliseconds
 * @param {string} timeZone
 * @param {number} interval seconds, of what is shown; 0: it has none
 * @param {(span: Span) => void} take
 */
export function chooseDates(window, timeZone, interval, take) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dates"));
  const clock = wallClock(timeZone);
  EDGES.forEach((edge, index) => (inputById(`dates-${edge}`).value = new Date(Math.round(clock.local(window[index]) / 1000) * 1000).toISOString().slice(0, 19)));
  byId("dates-zone").textContent = `Times of ${timeZone}.`;
  wrong("");
  /** @type {HTMLFormElement} */ (byId("dates-form")).onsubmit = (event) => {
    event.preventDefault();
    const [from, to] = EDGES.map((edge) => clock.instant(Date.parse(`${inputById(`dates-${edge}`).value}Z`)));
    if (from === null || to === null) return wrong("The clocks skipped one of these times. Choose another.");
    if (from >= to) return wrong("“From” must be before “to”.");
    if (to - from < shortest(interval)) return wrong(`The shortest window is ${inWords(shortest(interval) / 60_000)}.`);
    const span = spanOf(new Date(from).toISOString(), new Date(to).toISOString(), interval);
    if (span === null) return wrong("At most 45 days can be shown.");
    dialog.close();
    take(span);
  };
  byId("dates-cancel").onclick = () => dialog.close();
  dialog.showModal();
}

/** @type {(text: string) => void} */
const wrong = (text) => byId("dates-problem").replaceChildren(...(text ? [make("span", { text })] : []));
