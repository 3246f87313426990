// A dialog in which a person chooses from when to when, by the clock of the feed's time zone.

import { byId, inputById, make } from "./dom.js";
import { spanOf } from "./ranges.js";
import { wallClock } from "./wall_clock.js";

/** @import { Span } from "../page.d.ts" */

const EDGES = /** @type {const} */ (["from", "to"]);

/**
 * Opens it with a part of time, and calls `take` with the span that is chosen.
 * @param {number[]} window epoch milliseconds
 * @param {string} timeZone
 * @param {(span: Span) => void} take
 */
export function chooseDates(window, timeZone, take) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dates"));
  const clock = wallClock(timeZone);
  EDGES.forEach((edge, index) => (inputById(`dates-${edge}`).value = new Date(Math.round(clock.local(window[index]) / 1000) * 1000).toISOString().slice(0, 19)));
  byId("dates-zone").textContent = `Times of ${timeZone}.`;
  wrong("");
  /** @type {HTMLFormElement} */ (byId("dates-form")).onsubmit = (event) => {
    event.preventDefault();
    const [from, to] = EDGES.map((edge) => clock.instant(Date.parse(`${inputById(`dates-${edge}`).value}Z`)));
    if (from === null || to === null) return wrong("The clocks skipped one of these times. Choose another.");
    const span = spanOf(new Date(from).toISOString(), new Date(to).toISOString());
    if (span === null) return wrong(from < to ? "At most 45 days can be shown." : "“From” must be before “to”.");
    dialog.close();
    take(span);
  };
  byId("dates-cancel").onclick = () => dialog.close();
  dialog.showModal();
}

/** @type {(text: string) => void} */
const wrong = (text) => byId("dates-problem").replaceChildren(...(text ? [make("span", { text })] : []));
