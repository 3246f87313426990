// Whether what the page shows is live, and if not, as of when it is.

import { byId, clock } from "./dom.js";
import { Unanswered } from "./loads.js";
import { serverNow } from "./server_time.js";

/** @import { FeedInfo, Health } from "../page.d.ts" */
/** @import { Stream } from "./stream.js" */

const LATE = 15_000; // milliseconds; serving reads Kafka twice a second, and the page asks for its state every five

/**
 * Class and text of the pill: "live" says that new readings appear by themselves, "waiting" that this is about to show.
 * @param {Stream} stream
 * @param {Health | null} health
 * @param {Error[]} failures
 */
export function verdict(stream, health, failures) {
  if (failures.some((error) => error instanceof Unanswered)) return ["dead", "Serving does not answer"];
  if (!stream.opened) return stream.lost ? ["stale", "Reconnecting"] : ["waiting", "Connecting"];
  if (health === null) return ["waiting", "Connecting"];
  if (failures.length || late(Date.parse(health.at))) return ["stale", "Not all is loaded"];
  if (health.kafka.state === "unreachable") return ["stale", "Kafka does not answer"];
  if (health.kafka.state === "connecting") return ["stale", "Waiting for Kafka"];
  if (health.registry_error !== null) return ["stale", "Schema registry does not answer"];
  if (health.kafka.as_of === null) return ["stale", "Reading what came before"];
  if (late(Date.parse(health.kafka.as_of))) return ["stale", "Kafka is not read"];
  return ["live", "Live"];
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
  return Number.isNaN(at) ? "No new reading was read yet." : `As of ${clock("UTC").full(at)} UTC.`;
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
  const text = at === null ? "" : Number.isNaN(at) ? "No new reading was read yet." : `As of ${clock(feed.timezone).full(at)}.`;
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(`.as-of.${part}`))) {
    element.hidden = at === null;
    if (element.textContent !== text) element.textContent = text;
  }
}
