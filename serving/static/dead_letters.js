// The panel of dead letters: the newest of a feed, by reason, each with what the newest of them was.

import { byId, clockOf, count, make } from "./dom.js";
import { shownZone } from "./zone.js";

/** @import { DeadLetterInfo, FeedInfo } from "../page.d.ts" */
/** @typedef {((list: DeadLetterInfo[]) => void) | null} Replay of an operator; null for others */

let linked = location.hash === "#letters-card"; // a link led to the panel, which then comes into sight as soon as it is there
let shown = ""; // what is drawn: drawn again only when it changed, so that what was opened stays open

/**
 * The panel is there as soon as there is a letter.
 * @param {DeadLetterInfo[]} list newest first
 * @param {FeedInfo} feed
 * @param {Replay} replay
 */
export function deadLetters(list, feed, replay) {
  byId("letters-card").hidden = !list.length;
  const timezone = shownZone(feed.timezone);
  const wanted = JSON.stringify([feed.name, timezone, list, replay === null]);
  if (wanted === shown) return;
  shown = wanted;
  const zone = clockOf(timezone);
  byId("letters").replaceChildren(...alike(list).map((letters) => row(letters, zone)));
  const button = make("button", { type: "button", class: "link", text: "Replay what can be read now" });
  button.addEventListener("click", () => replay?.(list));
  byId("letter-acts").replaceChildren(...(replay ? [button] : []));
  if (linked && list.length) byId("letters-card").scrollIntoView();
  linked &&= !list.length;
}

/**
 * Letters whose reasons differ in numbers alone, those with the newest letter first.
 * @param {DeadLetterInfo[]} list
 */
function alike(list) {
  const found = /** @type {Map<string, DeadLetterInfo[]>} */ (new Map());
  for (const each of list) {
    const kind = each.reason.replace(/\d+/g, "…");
    found.set(kind, [...(found.get(kind) ?? []), each]);
  }
  return [...found.values()];
}

/**
 * @param {DeadLetterInfo[]} letters
 * @param {ReturnType<typeof clockOf>} zone
 */
function row(letters, zone) {
  const [newest] = letters;
  const place = newest.partition === null || newest.offset === null ? "of an unknown place" : `partition ${newest.partition}, offset ${newest.offset}`;
  const facts = [["Record", place], ["Key", newest.key ?? "none"], ["Bytes", count(newest.size)], ["Begins with", bytes(newest.begins)]];
  return make(
    "li",
    {},
    make("div", { class: "line" }, make("strong", { text: count(letters.length) }), make("time", { datetime: newest.at, text: zone.dated(newest.at) })),
    make("p", { class: "how", text: newest.reason || "No reason is kept" }),
    make("details", {}, make("summary", { text: "The newest" }), make("dl", { class: "facts" }, ...facts.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text })]))),
  );
}

/** Pairs of hexadecimal digits, a space between bytes. @type {(hex: string) => string} */
const bytes = (hex) => hex.replace(/../g, "$& ").trim() || "nothing";
