// The part of a form that chooses a part of time: a range that ends now, or dates.

import { byId, fill, selectById } from "./dom.js";
import { inWords } from "./ranges.js";

/** @import { Span } from "../page.d.ts" */

const DATES = "dates";

let shown = "";

/**
 * Offers these ranges and dates, and shows what is chosen.
 * @param {number[]} ranges minutes
 * @param {{ span: Span | null, minutes: number }} chosen
 */
export function offerWindow(ranges, { span, minutes }) {
  shown = span ? DATES : String(minutes);
  fill("window", [...ranges.map((each) => [String(each), inWords(each)]), [DATES, "dates…"]], shown);
}

/**
 * Calls `take` with what a person chooses, and `dates` where that is from when to when.
 * @param {(part: { span: null, minutes?: number }) => void} take
 * @param {() => void} dates
 */
export function followWindow(take, dates) {
  const select = selectById("window");
  select.addEventListener("change", () => {
    if (select.value !== DATES) return take({ minutes: Number(select.value), span: null });
    select.value = shown; // which is still chosen
    dates();
  });
  byId("to-dates").addEventListener("click", dates);
  byId("to-now").addEventListener("click", () => take({ span: null }));
}
