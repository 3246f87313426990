// Which two are compared: a version of the baseline, and another version or a candidate.

/** @import { GateResultInfo, PromotionInfo } from "../page.d.ts" */
/** @typedef {{ from: number | null, to: number | null, candidate: number | null }} Sides before and after; a candidate takes the place of the version after */
/** @typedef {{ name: string, diff: string, service: string }} After what the page calls it, and the parameters by which a difference and a service's rows are asked for */

/**
 * Both sides. Where nobody has chosen: after, the version in force; before, the newest that is older than it. Before a candidate, the
 * version that the gate compared it with, or else the one in force.
 * @param {Sides} sides
 * @param {PromotionInfo[]} history
 * @param {GateResultInfo[]} results
 * @returns {Sides}
 */
export function completed({ from, to, candidate }, history, results) {
  const force = history[0]?.version ?? null;
  if (candidate !== null) {
    const judged = results.find((each) => each.candidate_version === candidate);
    return { from: from ?? judged?.compared_with ?? force, to: null, candidate };
  }
  const after = to ?? force;
  const before = history.find(({ version }) => after !== null && version < after);
  return { from: from ?? before?.version ?? null, to: after, candidate };
}

/** Null: there is none. @type {(sides: Sides) => After | null} */
export function afterOf({ to, candidate }) {
  if (candidate !== null) return { name: `candidate v${candidate}`, diff: `candidate=${candidate}`, service: `candidate=${candidate}` };
  return to === null ? null : { name: `v${to}`, diff: `to=${to}`, service: `version=${to}` };
}

/** A sentence that may begin with the name of a side. @param {string} text */
export const sentence = (text) => text.replace(/^candidate/, "Candidate");
