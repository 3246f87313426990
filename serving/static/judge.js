// A dialog in which an operator says that an incident is a false alarm, that its readings are not normal, or that it was wrong to
// say so.

import { act } from "./acts.js";
import { byId, inputById, make } from "./dom.js";

/** @import { Act, FeedInfo, IncidentInfo } from "../page.d.ts" */

const STATES = { queued: "Airflow has it in its queue.", running: "Airflow is doing it.", success: "Done.", failed: "" };
const dialog = /** @type {() => HTMLDialogElement} */ (() => /** @type {HTMLDialogElement} */ (byId("judge")));

/**
 * Opens it for an incident. `done` is called once the statement is kept.
 * @param {IncidentInfo} incident
 * @param {FeedInfo} feed
 * @param {string} words what happened
 * @param {() => void} done
 */
export function judge(incident, feed, words, done) {
  const { verdict } = incident;
  byId("judge-title").textContent = verdict ? "Take back what was said" : "What was this?";
  byId("judge-incident").textContent = `${incident.kind === "group" ? `${incident.services} services` : incident.service}: ${words}`;
  byId("judge-kinds").hidden = verdict !== null;
  inputById("judge-exclude").disabled = !mayBeExcluded(incident);
  inputById("judge-false").checked = true;
  inputById("judge-reason").value = "";
  say("");
  /** @type {HTMLFormElement} */ (byId("judge-form")).onsubmit = (event) => {
    event.preventDefault();
    const reason = inputById("judge-reason").value.trim();
    if (reason) void ask(feed, { ...about(incident, inputById("judge-exclude").checked), reason }, done);
  };
  byId("judge-cancel").onclick = () => dialog().close();
  dialog().showModal();
  inputById("judge-reason").focus();
}

/** @type {(incident: IncidentInfo) => boolean} A silence has no readings; of an open incident nobody knows which they are. */
const mayBeExcluded = ({ kind, end }) => kind !== "silence" && end !== null;

/** @type {(incident: IncidentInfo, excluded: boolean) => object} A span needs no nightly run to know the incident. */
function about({ id, kind, service, start, end, verdict }, excluded) {
  if (verdict) return { verdict: "take_back", statement: verdict.statement };
  if (!excluded) return { verdict: "false", incident: id };
  return kind === "group" ? { verdict: "exclude", incident: id } : { verdict: "exclude", service, from: start, to: end };
}

/** @type {(feed: FeedInfo, statement: object, done: () => void) => Promise<void>} */
async function ask(feed, statement, done) {
  const send = /** @type {HTMLButtonElement} */ (byId("judge-send"));
  send.disabled = true;
  say("Asking Airflow.");
  try {
    const found = await act(`/api/feeds/${encodeURIComponent(feed.name)}/statements`, statement, see);
    if (found.state === "success") {
      dialog().close();
      done();
    }
  } catch (error) {
    say(/** @type {Error} */ (error).message, true);
  } finally {
    send.disabled = false;
  }
}

/** @param {Act} found */
function see(found) {
  if (found.state !== "failed") return say(STATES[found.state]);
  const why = "Nothing was kept. Incidents of today can be judged after the next nightly run of find_incidents. ";
  byId("judge-said").replaceChildren(why, make("a", { href: found.url, target: "_blank", rel: "noreferrer", text: "The run's log says why." }));
  byId("judge-said").className = "trouble";
}

/** @type {(text: string, wrong?: boolean) => void} */
function say(text, wrong = false) {
  byId("judge-said").replaceChildren(text);
  byId("judge-said").className = wrong ? "trouble" : "quiet";
}
