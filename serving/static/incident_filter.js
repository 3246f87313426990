// What the page of incidents is to show: kept in the URL, offered by the form at the top, and asked of serving.

import { byId, inputById, make, selectById } from "./dom.js";
import { inWords, spanOf } from "./ranges.js";
import { serverNow } from "./server_time.js";

/** @import { FeedInfo, IncidentFilter, IncidentInfo } from "../page.d.ts" */

const MINUTE = 60_000;
const WINDOWS = [1440, 10_080, 50_400]; // minutes
const USUAL = 10_080;
const STATES = [["", "open and closed"], ["open", "open"], ["closed", "closed"]];
const KINDS = [["", "all"], ["deviation", "deviation"], ["silence", "silence"], ["group", "group"]];

/** @type {(given: string | null, offered: string[][]) => string} */
const oneOf = (given, offered) => (offered.some(([value]) => value === given) ? (given ?? "") : "");

/** @returns {IncidentFilter} */
export function fromUrl() {
  const given = new URLSearchParams(location.search);
  const minutes = Number(given.get("minutes"));
  return {
    feed: given.get("feed") ?? "",
    search: given.get("search") ?? "",
    state: oneOf(given.get("state"), STATES),
    kind: oneOf(given.get("kind"), KINDS),
    minutes: WINDOWS.includes(minutes) ? minutes : USUAL,
    span: spanOf(given.get("from"), given.get("to")),
  };
}

/**
 * As parameters: of the page's address, and of the question to serving.
 * @param {IncidentFilter} filter
 */
export function parameters({ feed, search, state, kind, minutes, span }) {
  return new URLSearchParams({ ...(feed && { feed }), ...(search && { search }), ...(state && { state }), ...(kind && { kind }), ...(span ?? { minutes: String(minutes) }) });
}

/**
 * From when to when the timeline is, epoch milliseconds.
 * @param {IncidentFilter} filter
 */
export const windowOf = ({ span, minutes }) => (span ? [Date.parse(span.from), Date.parse(span.to)] : [serverNow() - minutes * MINUTE, serverNow()]);

/**
 * Whether serving would give the incident for this filter: that decides about those that come live.
 * @param {IncidentInfo} incident
 * @param {IncidentFilter} filter
 */
export function passes(incident, filter) {
  const { feed, search, state, kind, span } = filter;
  const [from, to] = windowOf(filter);
  const { start, end } = incident;
  const lasts = (end === null || Date.parse(end) > from) && (span === null || Date.parse(start) < to);
  const listed = search ? incident.kind !== "group" && incident.service.toLowerCase().includes(search.toLowerCase()) : incident.group === null;
  return lasts && listed && (!feed || incident.feed === feed) && (!kind || incident.kind === kind) && (!state || (end === null) === (state === "open"));
}

/**
 * The zone of the timeline: that of the feeds that are shown, or UTC if they have several.
 * @param {IncidentFilter} filter
 * @param {Map<string, FeedInfo>} feeds
 */
export function zoneOf({ feed }, feeds) {
  const zones = new Set([...feeds.values()].filter((each) => !feed || each.name === feed).map((each) => each.timezone));
  return zones.size === 1 ? [...zones][0] : "UTC";
}

/**
 * Shows the filter in the form.
 * @param {IncidentFilter} filter
 * @param {Map<string, FeedInfo>} feeds
 */
export function offer(filter, feeds) {
  fill("feed", [["", "all feeds"], ...[...feeds.keys()].map((each) => [each, each])], filter.feed);
  fill("state", STATES, filter.state);
  fill("kind", KINDS, filter.kind);
  fill("window", [...WINDOWS.map((each) => [String(each), inWords(each)]), ["dates", "dates…"]], filter.span ? "dates" : String(filter.minutes));
  if (inputById("search").value !== filter.search) inputById("search").value = filter.search;
}

/**
 * Makes the options again only if others are offered: a list that is unfolded stays.
 * @param {string} id
 * @param {string[][]} offered
 * @param {string} chosen
 */
function fill(id, offered, chosen) {
  const select = selectById(id);
  const text = offered.join("\n");
  if (select.dataset.text !== text) select.replaceChildren(...offered.map(([value, name]) => make("option", { value, text: name })));
  select.dataset.text = text;
  if (select.value !== chosen) select.value = chosen;
}

/**
 * Calls `choose` with what a person chooses in the form, and `dates` where that is from when to when.
 * @param {(change: Partial<IncidentFilter>) => void} choose
 * @param {() => void} dates
 */
export function follow(choose, dates) {
  byId("choice").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["feed", "state", "kind"]) selectById(name).addEventListener("change", () => choose({ [name]: selectById(name).value }));
  inputById("search").addEventListener("input", () => choose({ search: inputById("search").value }));
  selectById("window").addEventListener("change", () => {
    const { value } = selectById("window");
    if (value !== "dates") return choose({ minutes: Number(value), span: null });
    choose({}); // the form shows what is still chosen
    dates();
  });
  byId("to-dates").addEventListener("click", dates);
  byId("to-now").addEventListener("click", () => choose({ span: null }));
}
