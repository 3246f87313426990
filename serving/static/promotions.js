// A version of the baseline in words: how it came to be in force, by whom and why, and what the gate had said.

import { make } from "./dom.js";

/** @import { PromotionInfo } from "../page.d.ts" */

/**
 * How a version came to be in force: who did what, and why.
 * @param {PromotionInfo} promotion
 */
export function how({ kind, by, reason, gate: passed, rolled_back_to: target }) {
  if (kind === "write") return "No promotion: somebody wrote the table, and the commit names no candidate";
  const done = kind === "rollback" ? `Rolled back to v${target}` : passed === false ? "Approved" : "Promoted";
  const although = kind === "promotion" && passed === false ? " although the gate refused" : "";
  return `${done} by ${by ?? "nobody named"}${although}${reason ? `: ${reason}` : ""}`;
}

/** What the gate had said, in a pill. @param {PromotionInfo} promotion */
export function gate({ gate: passed }) {
  if (passed === true) return make("span", { class: "pill running", text: "gate passed" });
  if (passed === false) return make("span", { class: "pill dead", text: "gate refused" });
  return make("span", { class: "pill stale", text: "past the gate" });
}

/**
 * From what it was made.
 * @param {PromotionInfo} promotion
 */
export function origin({ candidate_version: candidate, as_of: date }) {
  return [candidate === null ? null : `candidate v${candidate}`, date && `as of ${date}`].filter(Boolean).join(" · ");
}
