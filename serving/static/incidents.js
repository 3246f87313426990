// The panel of incidents: open ones first, then those that ended last.

import { age, byId, clock, count, make } from "./dom.js";
import { serverNow } from "./server_time.js";

/** @import { FeedInfo, IncidentInfo, Verdict } from "../page.d.ts" */

/**
 * Rows of incidents; choosing one calls `choose` with it. The panel is there as soon as there is one.
 * @param {IncidentInfo[]} list
 * @param {FeedInfo} feed
 * @param {string | null} selected
 * @param {(incident: IncidentInfo) => void} choose
 */
export function incidents(list, feed, selected, choose) {
  const zone = clock(feed.timezone);
  const sorted = [...list].sort((a, b) => Number(a.end !== null) - Number(b.end !== null) || Date.parse(b.start) - Date.parse(a.start));
  byId("incidents-card").hidden = !list.length;
  byId("incidents").replaceChildren(...sorted.map((each) => incidentRow(each, zone, selected, choose)));
}

/**
 * The newest of two records of each incident, `incident` being the newer.
 * @param {IncidentInfo[]} list
 * @param {IncidentInfo} incident
 */
export const withIncident = (list, incident) => [incident, ...list.filter((each) => each.id !== incident.id)];

/**
 * @param {IncidentInfo} each
 * @param {ReturnType<typeof clock>} zone
 * @param {string | null} selected
 * @param {(incident: IncidentInfo) => void} choose
 */
function incidentRow(each, zone, selected, choose) {
  const button = make("button", { type: "button", class: "link", text: each.service, title: "Show this service then" });
  const open = each.end === null;
  const row = make(
    "li",
    { class: each.service === selected ? "selected" : null },
    make("div", { class: "line" }, button, make("time", { datetime: each.start, text: zone.dated(each.start) }), make("span", { class: `pill ${open ? "dead" : "stopped"}`, text: open ? "open" : "closed" })),
    make("p", { class: "how", text: inWords(each) }),
    make("p", { class: "quiet", text: each.cause }),
  );
  if (each.verdict) row.append(make("p", { class: "verdict", text: said(each.verdict, zone) }));
  button.addEventListener("click", () => choose(each));
  return row;
}

/**
 * What a person says of the incident, who, when and why.
 * @param {Verdict} verdict
 * @param {ReturnType<typeof clock>} zone
 */
const said = ({ kind, by, at, reason }, zone) => `${kind === "false" ? "No incident" : "Left out of the normal"}, says ${by} (${zone.dated(at)}): ${reason}`;

/**
 * What happened, and for how long.
 * @param {IncidentInfo} incident
 */
function inWords({ kind, start, end, direction, peak, peak_expected: wanted, level_shift: shifted }) {
  const lasted = age(((end === null ? serverNow() : Date.parse(end)) - Date.parse(start)) / 1000);
  const since = end === null ? `for ${lasted}` : `${lasted} long`;
  if (kind === "silence") return `No readings, ${since}`;
  const peaked = peak === null || wanted === null ? "" : `: ${count(peak)} at its peak, ${count(wanted)} expected`;
  return `Too ${direction}, ${since}${peaked}${shifted ? "; the level has shifted for good" : ""}`;
}
