// Whether what the page shows is live, and if not, as of when it is.

import { byId, clockOf } from "./dom.js";
import { Unanswered } from "./loads.js";
import { serverNow } from "./server_time.js";
import { shownZone } from "./zone.js";

/** @import { FeedInfo, Health } from "../page.d.ts" */
/** @import { Stream } from "./stream.js" */
/** @typedef {{ name: string, interval_seconds: number, newest_at: string | null }} Read a feed, and when its newest reading was */

const MISSING = 3; // intervals without a reading of any service, after which no readings come
const AT_LEAST = 30_000; // milliseconds without one; a page may ask for the newest one every ten seconds
const LATE = 15_000; // milliseconds; serving reads Kafka twice a second, and the page asks for its state every five

/**
 * Class and text of the pill: "live" says that new records appear by themselves, "waiting" that this is about to show.
 * @param {Stream} stream
 * @param {Health | null} health
 * @param {Error[]} failures
 */
export function verdict(stream, health, failures) {
  const said = amiss(health, failures);
  if (said?.[0] === "dead") return said;
  if (!stream.opened) return stream.lost ? ["stale", "Reconnecting"] : ["waiting", "Connecting"];
  if (said || health === null) return said ?? ["waiting", "Connecting"];
  if (health.kafka.as_of === null) return ["stale", "Reading what came before"];
  if (late(Date.parse(health.kafka.as_of))) return ["stale", "Kafka is not read"];
  return ["live", "Live"];
}

/**
 * What is amiss with serving itself, for the pill of any page; null: nothing.
 * @param {Health | null} health
 * @param {Error[]} failures
 */
export function amiss(health, failures) {
  if (failures.some((error) => error instanceof Unanswered)) return ["dead", "Serving does not answer"];
  if (failures.length) return ["stale", "Not all is loaded"];
  if (health === null) return ["waiting", "Connecting"];
  if (late(Date.parse(health.at))) return ["stale", "Not all is loaded"];
  if (health.kafka.state === "unreachable") return ["stale", "Kafka does not answer"];
  if (health.kafka.state === "connecting") return ["stale", "Waiting for Kafka"];
  return health.registry_error === null ? null : ["stale", "Schema registry does not answer"];
}

/**
 * The pill of a page that shows these feeds: "live" only while readings of each come. A feed that never had one does not count
 * beside others.
 * @param {string[]} said class and text by `verdict`
 * @param {Read[]} feeds
 */
export function unlessSilent(said, feeds) {
  const read = feeds.filter((each) => each.newest_at !== null);
  const silent = read.filter((each) => serverNow() - Date.parse(each.newest_at ?? "") > Math.max(1000 * each.interval_seconds * (1 + MISSING), AT_LEAST));
  if (said[0] === "live" && !feeds.length) return ["waiting", "Connecting"];
  if (said[0] !== "live" || (read.length && !silent.length)) return said;
  if (silent.length === read.length) return ["stale", "No readings come"];
  return ["stale", silent.length === 1 ? `No readings of ${silent[0].name} come` : `No readings of ${silent.length} feeds come`];
}

/**
 * Shows the pill, and beside it what fails and what serving says to do.
 * @param {string[]} said class and text of the pill
 * @param {Health | null} health
 * @param {Error[]} failures
 */
export function showState([kind, text], health, failures) {
  byId("connection").className = `pill ${kind}`;
  if (byId("connection").textContent !== text) byId("connection").textContent = text;
  const problem = [...new Set(failures.map(({ message }) => message)), ...(health?.remedies ?? [])].join(" ");
  byId("problem").hidden = !problem;
  if (byId("problem").textContent !== problem) byId("problem").textContent = problem;
}

/**
 * As of when the readings of all feeds are, as text; empty: they are fresh, or nothing was loaded yet.
 * @param {Stream} stream
 * @param {Health | null} health
 * @param {string} state class of the pill
 * @param {number} loadedAt
 */
export function asOf(stream, health, state, loadedAt) {
  if (state === "live" || state === "waiting" || Number.isNaN(loadedAt)) return "";
  const at = readingsAsOf(stream, health, loadedAt);
  return Number.isNaN(at) ? "No new reading was read yet." : `As of ${clockOf(shownZone("UTC")).full(at)} ${shownZone("UTC")}.`;
}

/** @type {(at: number) => boolean} */
export const late = (at) => serverNow() - at > LATE;

/**
 * Until when the readings shown are complete: what serving had read, and what of it has reached the page.
 * @param {Stream} stream
 * @param {Health | null} health
 * @param {number} loadedAt
 */
export function readingsAsOf(stream, health, loadedAt) {
  const reached = stream.heardAt === null ? loadedAt : serverNow() - (performance.now() - stream.heardAt);
  return Math.min(Math.max(reached, loadedAt), Date.parse(health?.kafka.as_of ?? ""));
}

/**
 * Marks a part of the page as of then, or takes the mark away.
 * @param {string} part
 * @param {number | null} at milliseconds since the epoch, null: it is fresh, NaN: nothing was read yet
 * @param {FeedInfo} feed
 */
export function mark(part, at, feed) {
  const text = at === null ? "" : Number.isNaN(at) ? "No new reading was read yet." : `As of ${clockOf(shownZone(feed.timezone)).full(at)}.`;
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(`.as-of.${part}`))) {
    element.hidden = at === null;
    if (element.textContent !== text) element.textContent = text;
  }
}
