// The panels of a feed's state: streams, dead letters, baseline, gate. Each loads by itself: one that fails says so, and stops no other.

import { chosen, offer, path } from "./choice.js";
import { deadLetters } from "./dead_letters.js";
import { byId } from "./dom.js";
import { gateResults } from "./gate.js";
import { KeptRows } from "./kept_rows.js";
import { failing, get, run } from "./loads.js";
import { answering, offerSwitch, replaying, rollingBack } from "./operator.js";
import { baseline } from "./panels.js";
import { serverNow } from "./server_time.js";
import { streams } from "./streams_panel.js";

/** @import { Baseline, DeadLetterInfo, FeedInfo, GateResultInfo, Health, StreamInfo } from "../page.d.ts" */
/** @typedef {(address: string) => Promise<any>} Ask */

const [VERSIONS, GATE_RESULTS] = [3, 3]; // the page of baselines has all
const OF_ONE_FEED = ["streams", "letters-card", "baseline", "history-title", "history", "gate"]; // ids of elements

const rows = new KeptRows(byId("streams"));
/** What was loaded of which feed; `at`: when its streams were. */
const now = {
  feed: "",
  streams: /** @type {StreamInfo[]} */ ([]),
  at: Number.NaN,
  letters: /** @type {DeadLetterInfo[]} */ ([]),
  baseline: /** @type {Baseline | null} */ (null),
  results: /** @type {GateResultInfo[]} */ ([]),
};

/** By the name in `failing`. @type {Record<string, (ask: Ask, again: () => void, health: Health | null) => Promise<void>>} */
const LOADS = { feeds: loadFeeds, streams: loadStreams, letters: loadLetters, baseline: loadBaseline, gate: loadGate };

/** @type {(name: string) => boolean} Whether that is a load of these panels. */
export const isPanel = (name) => name in LOADS;

/** When the streams were loaded. */
export const stateAt = () => now.at;

/**
 * Loads every panel. Those of another feed are hidden until theirs is there.
 * @param {AbortSignal} left
 * @param {Health | null} health
 * @param {() => void} again called when an operator has changed something
 */
export function loadPanels(left, health, again) {
  if (now.feed !== chosen.feed.name) {
    Object.assign(now, { feed: chosen.feed.name, streams: [], at: Number.NaN, letters: [], baseline: null, results: [] });
    for (const id of OF_ONE_FEED) byId(id).hidden = true;
  }
  for (const [name, load] of Object.entries(LOADS)) void run(name, () => load((address) => get(address, left), again, health));
}

/** @param {Ask} ask */
async function loadFeeds(ask) {
  const feeds = /** @type {FeedInfo[]} */ (await ask("/api/feeds"));
  const others = feeds.map(named).join() !== chosen.feeds.map(named).join();
  chosen.feeds = feeds;
  chosen.feed = feeds.find(({ name }) => name === chosen.feed.name) ?? chosen.feed;
  if (others) offer(); // a feed was declared, or is no longer
}

/** @type {(feed: FeedInfo) => string} */
const named = ({ name }) => name;

/** @type {(ask: Ask, again: () => void) => Promise<void>} */
async function loadStreams(ask, again) {
  const found = /** @type {StreamInfo[]} */ (await ask("/api/streams"));
  now.streams = found.filter(({ feed }) => feed === chosen.feed.name);
  now.at = serverNow();
  byId("streams").hidden = false;
  streams(rows, now.streams, 0, chosen.feed);
  offerSwitch(now.streams, chosen.feed, again);
}

/** @type {(ask: Ask, again: () => void, health: Health | null) => Promise<void>} */
async function loadLetters(ask, again, health) {
  now.letters = health?.kafka.state === "connected" ? await ask(path("/dead-letters")) : [];
  drawLetters(again);
}

/** @param {() => void} again */
function drawLetters(again) {
  deadLetters(now.letters, chosen.feed, replaying(chosen.feed, again));
}

/** @type {(ask: Ask, again: () => void) => Promise<void>} */
async function loadBaseline(ask, again) {
  now.baseline = await ask(path(`/baseline?limit=${VERSIONS}`));
  byId("baseline").hidden = false;
  drawBaseline(again);
  if (!byId("gate").hidden) drawGate(again);
}

/** @param {() => void} again */
function drawBaseline(again) {
  if (now.baseline) baseline(now.baseline, chosen.feed, rollingBack(chosen.feed, again));
}

/** @type {(ask: Ask, again: () => void) => Promise<void>} */
async function loadGate(ask, again) {
  now.results = await ask(path(`/gate-results?limit=${GATE_RESULTS}`));
  byId("gate").hidden = false;
  drawGate(again);
}

/** Which candidate a person may answer for is known with the baseline in force. @param {() => void} again */
function drawGate(again) {
  gateResults(now.results, chosen.feed, now.baseline && answering(chosen.feed, again), now.baseline?.in_force ?? null);
}

/** Draws what is loaded. @param {() => void} again called when an operator has changed something */
export function drawPanels(again) {
  if (now.feed !== chosen.feed.name) return;
  drawLetters(again);
  drawBaseline(again);
  if (!byId("gate").hidden) drawGate(again);
}

/** Says in each panel why it could not be loaded, and counts the streams' ages on. */
export function showPanels() {
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-load]"))) {
    const text = failing.get(element.dataset.load ?? "")?.message ?? "";
    element.hidden = !text;
    if (element.textContent !== text) element.textContent = text;
    if (text) /** @type {HTMLElement} */ (element.parentElement).hidden = false;
  }
  if (!Number.isNaN(now.at)) streams(rows, now.streams, (serverNow() - now.at) / 1000, chosen.feed);
}
