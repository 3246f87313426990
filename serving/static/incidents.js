// The panel of incidents: open ones first, then those that ended last. A group is one row that unfolds to its members.

import { age, byId, clockOf, count, make } from "./dom.js";
import { serverNow } from "./server_time.js";
import { shownZone } from "./zone.js";

/** @import { KeptRows } from "./kept_rows.js" */
/** @import { Acknowledgement, FeedInfo, IncidentInfo, Note, Verdict } from "../page.d.ts" */
/** @typedef {(incident: IncidentInfo) => void} Look */
/** @typedef {(place: { service: string, start: string }) => void} Choose */
/** @typedef {{ judge: Look, addNote: Look, takeBackNote: (note: Note) => void } | null} Acts of an operator; null for others */

/** Ids of the groups whose members are shown. @type {Set<string>} */
const unfolded = new Set();

/**
 * Rows of incidents; one that is clicked calls `look`, a member of a group `choose` with its service and start. The panel is there
 * as soon as there is one.
 * @param {KeptRows} rows
 * @param {IncidentInfo[]} list
 * @param {FeedInfo} feed
 * @param {string | null} selected
 * @param {Look} look
 * @param {Choose} choose
 * @param {Acts} acts
 */
export function incidents(rows, list, feed, selected, look, choose, acts) {
  const timezone = shownZone(feed.timezone);
  const zone = clockOf(timezone);
  const sorted = [...list].sort((a, b) => Number(a.end !== null) - Number(b.end !== null) || Date.parse(b.start) - Date.parse(a.start));
  byId("incidents-card").hidden = !list.length;
  const shown = rows.show(sorted.map((each) => ({ key: each.id, from: [each, timezone, acts !== null], content: () => content(each, zone, choose, acts) })));
  sorted.forEach((each, place) => {
    const group = each.kind === "group";
    shown[place].className = [each.service === selected && "selected", !group && "place"].filter(Boolean).join(" ");
    shown[place].onclick = group ? null : () => look(each);
    sayHow(shown[place], each);
  });
}

/** The words that change with time. @type {(row: HTMLElement, incident: IncidentInfo) => void} */
export function sayHow(row, incident) {
  const how = /** @type {HTMLElement} */ (row.querySelector(".how"));
  if (how.textContent !== inWords(incident)) how.textContent = inWords(incident);
}

/**
 * The newest of two records of each incident, `incident` being the newer. The row of a member is that of its group.
 * @param {IncidentInfo[]} list
 * @param {IncidentInfo} incident
 */
export function withIncident(list, incident) {
  const others = list.filter((each) => each.id !== incident.id);
  return incident.group === null ? [incident, ...others] : others;
}

/**
 * @param {IncidentInfo} each
 * @param {ReturnType<typeof clockOf>} zone
 * @param {Choose} choose
 * @param {Acts} acts
 */
function content(each, zone, choose, acts) {
  const group = each.kind === "group";
  const who = group ? make("strong", { text: whose(each) }) : link(each.service);
  return [
    make("div", { class: "line" }, who, make("time", { datetime: each.start, text: zone.dated(each.start) }), pill(each)),
    make("p", { class: "how", text: inWords(each) }),
    make("p", { class: "quiet", text: each.cause }),
    ...remarks(each, zone, acts),
    ...(group ? [members(each, zone, choose)] : []),
  ];
}

/** Whether it is open. @type {(each: IncidentInfo) => HTMLElement} */
export const pill = ({ end }) => make("span", { class: `pill ${end === null ? "dead" : "stopped"}`, text: end === null ? "open" : "closed" });

/**
 * What people said of it, and the buttons to say more.
 * @param {IncidentInfo} each
 * @param {ReturnType<typeof clockOf>} zone
 * @param {Acts} acts
 */
export function remarks(each, zone, acts) {
  const words = [each.acknowledgement && acknowledged(each.acknowledgement, zone), each.verdict && said(each.verdict, zone)];
  const found = words.flatMap((text) => (text ? [make("p", { class: "verdict", text })] : []));
  if (each.notes.length) found.push(make("ol", { class: "notes", "aria-label": "Notes" }, ...each.notes.map((note) => noteRow(note, zone, acts))));
  if (acts) found.push(make("p", { class: "acts" }, button(each.verdict ? "Take back" : "Judge", () => acts.judge(each)), button("Add a note", () => acts.addNote(each))));
  return found;
}

/**
 * @param {Note} note
 * @param {ReturnType<typeof clockOf>} zone
 * @param {Acts} acts
 */
function noteRow(note, zone, acts) {
  const row = make("li", { text: `${note.text} ` }, make("span", { class: "quiet", text: `${note.by}, ${zone.dated(note.at)}` }));
  if (acts) row.append(" ", button("Take back the note", () => acts.takeBackNote(note)));
  return row;
}

/** A button in a row that does something else when it is clicked. @type {(text: string, act: () => void) => HTMLElement} */
function button(text, act) {
  const element = make("button", { type: "button", class: "link", text });
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    act();
  });
  return element;
}

/**
 * Who looks after the incident, since when, and what they said.
 * @param {Acknowledgement} acknowledgement
 * @param {ReturnType<typeof clockOf>} zone
 */
const acknowledged = ({ by, at, reason }, zone) => `Acknowledged, says ${by} (${zone.dated(at)}): ${reason}`;

/**
 * What a person says of the incident, who, when and why.
 * @param {Verdict} verdict
 * @param {ReturnType<typeof clockOf>} zone
 */
const said = ({ kind, by, at, reason }, zone) => `${kind === "false" ? "False alarm" : "Left out of the normal"}, says ${by} (${zone.dated(at)}): ${reason}`;

/**
 * The members of a group, the first mover first. A member's id is its service and its start.
 * @param {IncidentInfo} group
 * @param {ReturnType<typeof clockOf>} zone
 * @param {Choose} choose
 */
export function members(group, zone, choose) {
  const rows = group.members.map((id) => {
    const at = id.lastIndexOf("@");
    const [service, start] = [id.slice(0, at), id.slice(at + 1)];
    const button = link(service);
    button.addEventListener("click", () => choose({ service, start }));
    return make("li", {}, button, ` ${zone.time(start)}`);
  });
  const more = (group.services ?? 0) > rows.length ? [make("li", { class: "quiet", text: "and others" })] : [];
  const details = make("details", { open: unfolded.has(group.id) ? "" : null }, make("summary", { text: "Members" }), make("ol", {}, ...rows, ...more));
  details.addEventListener("toggle", () => (/** @type {HTMLDetailsElement} */ (details).open ? unfolded.add(group.id) : unfolded.delete(group.id)));
  return details;
}

/** @type {(service: string) => HTMLElement} */
const link = (service) => make("button", { type: "button", class: "link", text: service, title: "Show this service then" });

/** Its service; of a group, how many. @type {(incident: IncidentInfo) => string} */
export const whose = ({ kind, service, services }) => (kind === "group" ? `${count(services)} services` : service);

/**
 * What happened, and for how long.
 * @param {IncidentInfo} incident
 */
export function inWords({ kind, start, end, direction, peak, peak_expected: wanted, level_shift: shifted }) {
  const lasted = age(((end === null ? serverNow() : Date.parse(end)) - Date.parse(start)) / 1000);
  const since = end === null ? `for ${lasted}` : `${lasted} long`;
  if (kind === "silence") return `No readings, ${since}`;
  if (kind === "group") return `${direction ? `Too ${direction}` : "At once"}, ${since}`;
  const peaked = peak === null || wanted === null ? "" : `: ${count(peak)} at its peak, ${count(wanted)} expected`;
  return `Too ${direction}, ${since}${peaked}${shifted ? "; the level has shifted for good" : ""}`;
}
