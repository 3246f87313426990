// Two fields from when to when, by the clock of a time zone. A time that comes twice has a choice between its two instants.

import { byId, fill, inputById, selectById } from "./dom.js";
import { signed, wallClock } from "./wall_clock.js";

const EDGES = /** @type {const} */ (["from", "to"]);
const SECOND = 1000; // milliseconds

/**
 * Fills the fields whose ids begin with `id`. Returns what reads them: from when to when in epoch milliseconds, or what is wrong.
 * @param {string} id
 * @param {number[]} window epoch milliseconds
 * @param {string} timeZone
 * @returns {() => number[] | string}
 */
export function spanFields(id, window, timeZone) {
  const clock = wallClock(timeZone);

  /** @type {(edge: string) => number[]} The instants of the time that the field has. */
  const instants = (edge) => clock.instants(Date.parse(`${inputById(`${id}-${edge}`).value}Z`));

  /** Offers the choice if there is one, `at` or else the first being chosen. @type {(edge: string, at?: number) => void} */
  function offer(edge, at) {
    const both = instants(edge);
    byId(`${id}-${edge}-twice`).hidden = both.length < 2;
    fill(`${id}-${edge}-which`, both.map((each) => [String(each), `UTC${signed(clock.offset(each)).replace("-", "−")}`]), String(at ?? both[0] ?? ""));
  }

  EDGES.forEach((edge, index) => {
    const at = Math.round(window[index] / SECOND) * SECOND;
    const field = inputById(`${id}-${edge}`);
    field.value = new Date(clock.local(at)).toISOString().slice(0, 19);
    field.oninput = () => offer(edge);
    offer(edge, at);
  });
  byId(`${id}-zone`).textContent = `Times of ${timeZone}.`;

  return () => {
    const [from, to] = EDGES.map((edge) => instants(edge).find((at, _, { length }) => length < 2 || String(at) === selectById(`${id}-${edge}-which`).value));
    if (from === undefined || to === undefined) return "The clocks skipped one of these times. Choose another.";
    return from < to ? [from, to] : "“From” must be before “to”.";
  };
}
