// The versions of a feed's baseline, newest first: how each came to be in force, and which two are compared.

import { byId, clockOf, make, nothing, selectById } from "./dom.js";
import { gate, how, origin } from "./promotions.js";
import { shownZone } from "./zone.js";

/** @import { Baseline, FeedInfo, PromotionInfo } from "../page.d.ts" */
/** @import { Sides } from "./baseline_sides.js" */
/** @typedef {{ compare: (sides: Sides) => void, rollBack: ((promotion: PromotionInfo) => void) | null }} Acts rollBack: null for who is no operator */

let drawn = ""; // what is drawn: drawn again only when it changed, so that a button keeps the focus

/**
 * @param {Baseline} baseline
 * @param {FeedInfo} feed
 * @param {Sides} sides
 * @param {Acts} acts
 */
export function versions({ in_force: force, history }, feed, sides, acts) {
  const timezone = shownZone(feed.timezone);
  const wanted = JSON.stringify([feed.name, timezone, history, sides.from, sides.to, sides.candidate, acts.rollBack === null]);
  if (wanted === drawn) return;
  drawn = wanted;
  const zone = clockOf(timezone);
  const rows = history.map((each, index) => row(each, history[index + 1], zone, sides, { ...acts, rollBack: each.version === force?.version ? null : acts.rollBack }, each.version === force?.version));
  byId("history").replaceChildren(...(rows.length ? rows : [make("li", {}, nothing("No baseline was promoted yet, so there is nothing to compare. In Airflow, trigger the DAG", `nightly_baseline.${feed.name}`))]));
  byId("history-note").textContent = rows.length ? `Times are those of ${timezone}.` : "";
  offer(history, sides);
}

/**
 * @param {PromotionInfo} each
 * @param {PromotionInfo | undefined} before the one that was in force before it
 * @param {ReturnType<typeof clockOf>} zone
 * @param {Sides} sides
 * @param {Acts} acts
 * @param {boolean} inForce
 */
function row(each, before, zone, sides, { compare, rollBack }, inForce) {
  const version = each.version;
  const part = version === sides.to ? "after" : version === sides.from ? "before" : null;
  const acts = [];
  if (before) acts.push(button(`What v${version} changed`, () => compare({ from: before.version, to: version, candidate: null })));
  if (rollBack) acts.push(button(`Roll back to v${version}`, () => rollBack(each)));
  const when = make("time", { datetime: each.promoted_at, text: zone.dated(each.promoted_at) });
  return make(
    "li",
    { class: part && "selected" },
    make("div", { class: "line" }, make("strong", { text: `v${version}` }), when, ...(inForce ? [make("span", { class: "pill live", text: "in force" })] : []), gate(each)),
    make("p", { class: "how", text: how(each) }),
    make("p", { class: "quiet", text: [origin(each), each.run_id && `run ${each.run_id}`, part && `compared, ${part}`].filter(Boolean).join(" · ") }),
    ...(acts.length ? [make("p", { class: "acts" }, ...acts)] : []),
  );
}

/** @type {(text: string, act: () => void) => HTMLElement} */
function button(text, act) {
  const made = make("button", { type: "button", class: "link", text });
  made.addEventListener("click", act);
  return made;
}

/**
 * Fills the form: the versions that are listed, and what the URL names besides.
 * @param {PromotionInfo[]} history
 * @param {Sides} sides
 */
function offer(history, { from, to, candidate }) {
  for (const [id, chosen] of /** @type {const} */ ([["from", from], ["to", to]])) {
    const listed = history.map((each) => each.version);
    const all = chosen === null || listed.includes(chosen) ? listed : [...listed, chosen];
    const options = all.map((each) => make("option", { value: each, text: `v${each}` }));
    if (id === "to" && candidate !== null) options.unshift(make("option", { value: "", text: `candidate v${candidate}` }));
    selectById(id).replaceChildren(...(options.length ? options : [make("option", { value: "", text: "none yet" })]));
    selectById(id).value = chosen === null ? "" : String(chosen);
    selectById(id).disabled = !options.length;
  }
}
