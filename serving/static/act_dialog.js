// A dialog before each act: what is going to be done, from when to when, one choice if there are several, and a text that is kept.

import { byId, inputById, make } from "./dom.js";
import { get, send } from "./loads.js";
import { serverNow } from "./server_time.js";
import { spanFields } from "./span_fields.js";

/** @import { ActInfo } from "../page.d.ts" */
/** @typedef {{ text: string, asked: object, disabled?: boolean }} Choice */
/** @typedef {{ window: number[], timeZone: string }} AskedSpan from when to when, at first; epoch milliseconds */
/** @typedef {{ title: string, words: string, button: string, path: string, span?: AskedSpan, choices: Choice[], reason: string | null, failed: string, done: () => void }} Ask */

const LOOK_AGAIN = 1500; // milliseconds
const SAID = { queued: "Airflow has it in its queue.", running: "Airflow is doing it.", success: "Done." };
const dialog = () => /** @type {HTMLDialogElement} */ (byId("act"));

/**
 * Opens it. `span`: a part of the past that a person may change, and that is sent as `from` and `to`. `choices`: what may be asked
 * for; one alone is not offered as a choice. `reason`: what the text is called that a person gives; null: they give none. `failed`:
 * what it means if Airflow fails. `done` is called once it is done.
 * @param {Ask} ask
 */
export function askFirst(ask) {
  byId("act-title").textContent = ask.title;
  byId("act-words").textContent = ask.words;
  byId("act-send").textContent = ask.button;
  byId("act-choices").replaceChildren(...(ask.choices.length > 1 ? ask.choices.map(radio) : []));
  const fieldset = /** @type {HTMLFieldSetElement} */ (byId("act-span"));
  fieldset.hidden = fieldset.disabled = ask.span === undefined; // its empty fields would keep the form from being sent
  const read = ask.span && spanFields("act", ask.span.window, ask.span.timeZone);
  byId("act-reason-label").hidden = ask.reason === null;
  byId("act-reason-name").textContent = ask.reason;
  inputById("act-reason").required = ask.reason !== null;
  inputById("act-reason").value = "";
  say("");
  /** @type {HTMLFormElement} */ (byId("act-form")).onsubmit = (event) => {
    event.preventDefault();
    const reason = inputById("act-reason").value.trim();
    const span = read?.() ?? [];
    if (typeof span === "string") return say(span, "trouble");
    if (span.some((at) => at > serverNow())) return say("“To” must not be in the future.", "trouble");
    const [from, to] = span.map((at) => new Date(at).toISOString());
    if (reason || ask.reason === null) void act(ask, { ...chosen(ask.choices).asked, ...(read && { from, to }), ...(ask.reason !== null && { reason }) });
  };
  byId("act-cancel").onclick = () => dialog().close();
  dialog().showModal();
  (ask.reason !== null ? byId("act-reason") : byId("act-send")).focus();
}

/** @type {(choice: Choice, index: number) => HTMLElement} */
const radio = ({ text, disabled }, index) => make("label", {}, make("input", { type: "radio", name: "act-choice", value: index, checked: index === 0 ? "" : null, disabled: disabled ? "" : null }), ` ${text}`);

/** @type {(choices: Choice[]) => Choice} */
function chosen(choices) {
  const checked = /** @type {HTMLInputElement | null} */ (byId("act-choices").querySelector(":checked"));
  return choices[Number(checked?.value ?? 0)];
}

/** @type {(ask: Ask, asked: object) => Promise<void>} */
async function act(ask, asked) {
  const button = /** @type {HTMLButtonElement} */ (byId("act-send"));
  button.disabled = true;
  say("Asking Airflow.");
  try {
    const found = await ended(await send("POST", ask.path, asked));
    if (found?.state === "failed") return sayFailed(ask, found);
    dialog().close();
    ask.done();
  } catch (error) {
    say(/** @type {Error} */ (error).message, "trouble");
  } finally {
    button.disabled = false;
  }
}

/**
 * The act once Airflow has ended it. Null: it was done at once.
 * @param {ActInfo | null} found
 * @returns {Promise<ActInfo | null>}
 */
async function ended(found) {
  while (found && found.state !== "success" && found.state !== "failed") {
    say(SAID[found.state]);
    await new Promise((done) => setTimeout(done, LOOK_AGAIN));
    found = await get(`/api/acts/${found.dag}/${encodeURIComponent(found.run)}`);
  }
  return found;
}

/** @type {(ask: Ask, found: ActInfo) => void} */
function sayFailed({ failed }, { url }) {
  say("", "trouble");
  byId("act-said").replaceChildren(`${failed} `, make("a", { href: url, target: "_blank", rel: "noreferrer", text: "The run's log says why." }));
}

/** @type {(text: string, how?: string) => void} */
function say(text, how = "quiet") {
  byId("act-said").replaceChildren(text);
  byId("act-said").className = how;
}
