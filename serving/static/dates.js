// A dialog in which a person chooses from when to when, by the clock of a time zone.

import { byId, make } from "./dom.js";
import { inWords, shortest, spanOf } from "./ranges.js";
import { spanFields } from "./span_fields.js";

/** @import { Span } from "../page.d.ts" */

/**
 * Opens it with a part of time, and calls `take` with the span that is chosen.
 * @param {number[]} window epoch milliseconds
 * @param {string} timeZone
 * @param {number} interval seconds, of what is shown; 0: it has none
 * @param {(span: Span) => void} take
 */
export function chooseDates(window, timeZone, interval, take) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dates"));
  const read = spanFields("dates", window, timeZone);
  wrong("");
  /** @type {HTMLFormElement} */ (byId("dates-form")).onsubmit = (event) => {
    event.preventDefault();
    const found = read();
    if (typeof found === "string") return wrong(found);
    if (found[1] - found[0] < shortest(interval)) return wrong(`The shortest window is ${inWords(shortest(interval) / 60_000)}.`);
    const [from, to] = found.map((at) => new Date(at).toISOString());
    const span = spanOf(from, to, interval);
    if (span === null) return wrong("At most 45 days can be shown.");
    dialog.close();
    take(span);
  };
  byId("dates-cancel").onclick = () => dialog.close();
  dialog.showModal();
}

/** @type {(text: string) => void} */
const wrong = (text) => byId("dates-problem").replaceChildren(...(text ? [make("span", { text })] : []));
