// What an operator asks for: it is sent, and looked at until Airflow has done it.

import { get, send } from "./loads.js";

/** @import { Act } from "../page.d.ts" */

const LOOK_AGAIN = 1500; // milliseconds
const ENDED = new Set(["success", "failed"]);

/**
 * Sends it, and waits until it is done; `see` gets each state on the way. Throws an error that says why it was refused.
 * @param {string} path
 * @param {object} asked
 * @param {(act: Act) => void} see
 * @returns {Promise<Act>} success or failed
 */
export async function act(path, asked, see) {
  /** @type {Act} */
  let found = await send("POST", path, asked);
  see(found);
  while (!ENDED.has(found.state)) {
    await new Promise((done) => setTimeout(done, LOOK_AGAIN));
    found = await get(`/api/acts/${found.dag}/${encodeURIComponent(found.run)}`);
    see(found);
  }
  return found;
}
