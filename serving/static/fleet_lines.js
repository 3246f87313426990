// The lines of the list: the services that the filter lets pass, each in words; a group is one line that unfolds to its members.

import { age, clockOf, count, offBy } from "./dom.js";
import { keyOf } from "./fleet_state.js";
import { NAMES } from "./fleet_status.js";
import { inWords } from "./incidents.js";
import { serverNow } from "./server_time.js";
import { shownZone } from "./zone.js";

/** @import { FleetFeed, FleetFilter, FleetLine, FleetRow, IncidentInfo } from "../page.d.ts" */
/** @import { FleetState } from "./fleet_state.js" */

const GROUP = "group\n"; // no key of a service begins so: it begins with a feed's name

/**
 * @param {FleetState} state
 * @param {FleetFilter} filter
 */
export function passing(state, { search, status, feed }) {
  const wanted = search.toLowerCase();
  return [...state.rows.values()].filter(
    (each) => (!wanted || each.name.toLowerCase().includes(wanted)) && (!status || each.status === status) && (!feed || each.feed === feed),
  );
}

/**
 * In the order of the rows. A group has the place of its first member. A search shows each service on a line of its own.
 * @param {FleetState} state
 * @param {FleetFilter} filter
 * @param {Set<string>} unfolded keys of groups
 * @returns {FleetLine[]}
 */
export function lines(state, filter, unfolded) {
  const rows = passing(state, filter);
  if (filter.search) return rows.map((row) => ({ key: row.key, row, members: [], member: false }));
  const together = /** @type {Map<string, FleetRow[]>} */ (new Map());
  const quiet = silentFeeds(state);
  for (const each of rows) {
    const key = groupOf(each, state, quiet) ?? each.key;
    const others = together.get(key);
    if (others) others.push(each);
    else together.set(key, [each]);
  }
  /** @type {FleetLine[]} */
  const found = [];
  for (const [key, members] of together) {
    const alone = members[0].key === key;
    found.push({ key, row: members[0], members: alone ? [] : members, member: false });
    if (unfolded.has(key)) found.push(...members.map((row) => ({ key: row.key, row, members: [], member: true })));
  }
  return found;
}

/**
 * Feeds of which no service is heard.
 * @param {FleetState} state
 */
function silentFeeds(state) {
  const [heard, several] = [new Set(), new Map()];
  for (const { feed, status } of state.rows.values()) {
    several.set(feed, (several.get(feed) ?? 0) + 1);
    if (status !== "silent") heard.add(feed);
  }
  return new Set([...several.keys()].filter((feed) => !heard.has(feed) && several.get(feed) > 1));
}

/**
 * The key of the group that a service stands in; null: it stands alone.
 * @param {FleetRow} row
 * @param {FleetState} state
 * @param {Set<string>} quiet
 */
function groupOf({ feed, incident }, state, quiet) {
  const key = incident?.group ? keyOf(feed, incident.group) : null;
  if (key !== null && state.groups.has(key)) return GROUP + key;
  return quiet.has(feed) ? `silent\n${feed}` : null;
}

/**
 * What a line says: whom it is about, what is wrong, and since when.
 * @param {FleetLine} line
 * @param {FleetState} state
 */
export function words({ key, row, members }, state) {
  const feed = /** @type {FleetFeed} */ (state.feeds.get(row.feed));
  if (!members.length) return { name: row.name, label: NAMES[row.status], what: whatIsWrong(row, feed, state.asOf), ...since(row.since, feed) };
  const group = state.groups.get(key.slice(GROUP.length)) ?? null;
  const [first] = members.flatMap((each) => (each.since === null ? [] : [each.since])).sort();
  const what = group ? `${inWords(group)}${attended(group)}; ${group.cause}` : "No readings of the whole feed";
  return { name: `${count(members.length)} services`, label: NAMES[row.status], what, ...since(group?.start ?? first ?? null, feed) };
}

/**
 * @param {FleetRow} row
 * @param {FleetFeed} feed
 * @param {string | null} asOf
 */
function whatIsWrong({ status, incident, since: at, pct }, feed, asOf) {
  const lasted = at === null ? "" : `, for ${age((serverNow() - Date.parse(at)) / 1000)}`;
  if (status === "incident" && incident) return `${inWords(incident)}${attended(incident)}`;
  if (status === "anomalous") return `${offBy(pct)} from what is expected${lasted}`;
  if (status === "silent") return at === null ? "No reading has come" : `No readings${lasted}`;
  if (status === "unknown") return asOf === null ? "Serving has not read its readings yet" : "Serving has no room for its readings";
  if (status !== "no_baseline") return "";
  const first = feed.first_baseline;
  return first ? `No baseline yet: ${first.dates} of ${first.needed} dates` : "No baseline for this time";
}

/** @type {(incident: IncidentInfo) => string} */
const attended = ({ acknowledgement }) => (acknowledgement ? "; acknowledged" : "");

/**
 * @param {string | null} at
 * @param {FleetFeed} feed
 */
function since(at, feed) {
  const zone = shownZone(feed.timezone);
  return { at, since: at === null ? "" : `since ${clockOf(zone).full(at)} ${zone}` };
}
