// Loading from the API: what fails is tried again, for as long as it is wanted, and stands in `failing` until it succeeds.

const LONGEST_ANSWER = 15_000; // milliseconds
const LONGEST_PAUSE = 15_000;
const NEXT = /<([^>]*)>; rel="next"/;

/** Serving did not answer at all. */
export class Unanswered extends Error {}

/** Serving refused to answer: the problem's detail and remedy, and the HTTP status. */
export class Refused extends Error {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** What could not be loaded, and why. @type {Map<string, Error>} */
export const failing = new Map();

const attempts = /** @type {Map<string, object>} */ (new Map()); // the newest attempt of what is loaded

/**
 * Milliseconds to wait after so many failures: longer each time, and not the same in each page.
 * @param {number} failures
 */
export const pauseAfter = (failures) => Math.min(1000 * 2 ** failures, LONGEST_PAUSE) * (0.75 + Math.random() / 2);

/**
 * The answer of the API, or an error that carries its problem's detail and remedy.
 * @param {string} path
 * @param {AbortSignal} [left] ends it with an AbortError
 * @returns {Promise<any>}
 */
export async function get(path, left) {
  return (await answerOf(path, {}, left)).body;
}

/**
 * One page of a long answer, and the address of the next one; null: it is the last.
 * @param {string} path
 * @param {AbortSignal} [left]
 * @returns {Promise<{ body: any, next: string | null }>}
 */
export async function getPage(path, left) {
  return await answerOf(path, {}, left);
}

/**
 * The rows of all pages of a long answer.
 * @param {string} path
 * @param {AbortSignal} [left]
 * @returns {Promise<any[]>}
 */
export async function getAll(path, left) {
  const rows = [];
  for (let next = /** @type {string | null} */ (path); next !== null; ) {
    const page = await getPage(next, left);
    for (const row of page.body) rows.push(row);
    next = page.next;
  }
  return rows;
}

/**
 * As `get`, with a change: the body is sent as JSON.
 * @param {"POST" | "DELETE"} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
export async function send(method, path, body) {
  return (await answerOf(path, { method, ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }) })).body;
}

/** @type {(path: string, how: RequestInit, left?: AbortSignal) => Promise<{ body: any, next: string | null }>} */
async function answerOf(path, how, left) {
  const limits = [AbortSignal.timeout(LONGEST_ANSWER), ...(left ? [left] : [])];
  let status = 0;
  try {
    const answer = await fetch(path, { ...how, signal: AbortSignal.any(limits), headers: { Accept: "application/json", ...how.headers } });
    status = answer.status;
    if (status === 204) return { body: null, next: null };
    const body = await answer.json();
    if (answer.ok) return { body, next: nextOf(answer) };
    throw new Refused([body.detail ?? `HTTP ${status}`, body.remedy].filter(Boolean).join(" "), status);
  } catch (error) {
    if (left?.aborted) throw new DOMException("left for another choice", "AbortError");
    if (error instanceof TypeError || error instanceof DOMException) throw new Unanswered("Serving does not answer. Trying again; see `sundial status`.");
    if (error instanceof SyntaxError) throw new Error(`${path} is answered with HTTP ${status}, not by serving. Trying again.`);
    throw error;
  }
}

/** The header says it relative to the address of the answer. @param {Response} answer */
function nextOf(answer) {
  const [, address] = NEXT.exec(answer.headers.get("Link") ?? "") ?? [];
  return address === undefined ? null : new URL(address, answer.url).href;
}

/**
 * Does a load, again after a pause for as long as it fails and no later load of the same name began; not while the page is hidden.
 * One that was left for another choice ends quietly.
 * @param {string} what
 * @param {() => Promise<void>} load
 */
export async function run(what, load) {
  const mine = {};
  attempts.set(what, mine);
  for (let failures = 0; attempts.get(what) === mine; failures += 1) {
    try {
      await load();
      failing.delete(what);
      return;
    } catch (error) {
      if (/** @type {Error} */ (error).name === "AbortError") return;
      if (attempts.get(what) === mine) failing.set(what, /** @type {Error} */ (error));
    }
    await new Promise((done) => setTimeout(done, pauseAfter(failures)));
    if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
  }
}

/**
 * Gives up a load.
 * @param {string} what
 */
export function leave(what) {
  for (const loads of [attempts, failing]) loads.delete(what);
}

/**
 * Gives up every load but one.
 * @param {string} what
 */
export function onlyLoad(what) {
  for (const name of [...attempts.keys(), ...failing.keys()]) if (name !== what) leave(name);
}
