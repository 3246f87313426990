// What the chart shows at one place, in figures beside the key: where the pointer is, or else at the newest reading.

import { tellBeside } from "./beside.js";
import { byId, clockOf, count, withUtc } from "./dom.js";
import { inWords } from "./incidents.js";
import { shownZone } from "./zone.js";

/** @import { IncidentInfo, Plot, Shown } from "../page.d.ts" */
/** @import { Earlier } from "./earlier.js" */

/**
 * @param {Plot} plot
 * @param {Shown} series
 * @param {IncidentInfo | null} incident the one at the pointer
 * @param {Earlier | null} earlier
 */
export function readout(plot, series, incident, earlier) {
  const pointed = plot.cursor.idx ?? null;
  const index = pointed ?? plot.data[1].findLastIndex((value) => value !== null);
  const [seconds, value, low, high, expected, anomalous, lowest, highest, before, ...beside] = plot.data.map((column) => column[index] ?? null);
  const at = seconds === null ? null : withUtc(1000 * seconds, shownZone(series.timezone));
  write("at", [pointed === null && at && "Newest:", at ?? "No reading"].filter(Boolean).join(" "));
  write("at-incident", incident ? `Incident: ${inWords(incident)}` : "");
  byId("at-incident").hidden = incident === null;
  byId("hint").hidden = incident !== null;
  write("at-value", count(value));
  write("at-expected", count(expected));
  write("at-band", between(low, high));
  write("at-anomaly", count(anomalous));
  write("at-range", between(lowest, highest));
  byId("key-earlier").hidden = earlier === null;
  const then = earlier && seconds !== null ? earlier.before(1000 * seconds) : null;
  // That day is one of the feed, as the days that one chooses to compare with are.
  write("earlier", then === null ? "Earlier" : clockOf(series.timezone).day(then));
  write("at-earlier", count(before));
  tellBeside(beside);
  byId("key").style.setProperty("--digits", String(count(plot.scales.y.max).length));
}

/** @type {(id: string, text: string) => void} */
function write(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

/** @type {(low: number | null, high: number | null) => string} */
const between = (low, high) => (low === null || high === null ? "–" : `${count(low)} to ${count(high)}`);
