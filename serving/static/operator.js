// What an operator may do, each on its page. For others each function returns null, and the page offers nothing.

import { askFirst } from "./act_dialog.js";
import { byId, make } from "./dom.js";
import { inWords, whose } from "./incidents.js";
import { login } from "./login_state.js";
import { shownZone } from "./zone.js";

/** @import { Choice } from "./act_dialog.js" */
/** @import { SwitchApplication } from "./applications.js" */
/** @import { Acts } from "./incidents.js" */
/** @import { DeadLetterInfo, FeedInfo, GateResultInfo, IncidentInfo, PromotionInfo, StreamInfo } from "../page.d.ts" */

const isOperator = () => login.me.role === "operator";

/** @type {(feed: FeedInfo, path: string) => string} */
const of = (feed, path) => `/api/feeds/${encodeURIComponent(feed.name)}/${path}`;

/** @type {(feed: FeedInfo, done: () => void) => Acts} */
export function incidentActs(feed, done) {
  if (!isOperator()) return null;
  /** @type {(title: string, words: string, choices: Choice[], reason?: string) => void} */
  const say = (title, words, choices, reason = "Reason") => askFirst({ title, words, button: "Keep it", path: of(feed, "statements"), choices, reason, failed: "Nothing was kept.", done });
  return {
    judge: (incident) => {
      const { verdict, acknowledgement } = incident;
      const first = [...acknowledging(incident), ...verdicts(incident), ...(acknowledgement ? [takeBack(acknowledgement, "Nobody looks after it any more")] : [])];
      say(verdict ? "Take back what was said" : "What is this?", named(incident), verdict ? [takeBack(verdict)] : first);
    },
    addNote: (incident) => say("Add a note", named(incident), [{ text: "", asked: { verdict: "note", incident: incident.id } }], "Note"),
    takeBackNote: (note) => say("Take back the note", note.text, [takeBack(note)]),
  };
}

/** @type {(incident: IncidentInfo) => string} */
const named = (incident) => `${whose(incident)}: ${inWords(incident)}`;

/** @type {(said: { statement: number }, text?: string) => Choice} */
const takeBack = ({ statement }, text = "") => ({ text, asked: { verdict: "take_back", statement } });

/** Also of an incident of which nobody said anything yet. @type {(incident: IncidentInfo) => Choice[]} */
const acknowledging = ({ id, end, acknowledgement }) => (end === null && !acknowledgement ? [{ text: "I look after it: no route reminds or escalates any more", asked: { verdict: "acknowledge", incident: id } }] : []);

/**
 * A silence has no readings to exclude, and of an open incident nobody knows which they are. A span needs no nightly run to know the
 * incident.
 * @param {IncidentInfo} incident
 */
function verdicts({ id, kind, service, start, end }) {
  const readings = kind === "group" ? { incident: id } : { service, from: start, to: end };
  return [
    { text: "A false alarm: the readings are normal", asked: { verdict: "false", incident: id } },
    { text: "Not normal: no average and no detector shall learn from these readings", asked: { verdict: "exclude", ...readings }, disabled: kind === "silence" || end === null },
  ];
}

/**
 * Excludes a range of a service, or takes that back. `window`: the range that is offered at first, epoch milliseconds.
 * @type {(feed: FeedInfo, done: () => void) => { exclude: (service: string, window: number[]) => void, takeBack: (statement: number, words: string) => void } | null}
 */
export function excluding(feed, done) {
  if (!isOperator()) return null;
  const all = { button: "Keep it", path: of(feed, "statements"), reason: "Reason", failed: "Nothing was kept.", done };
  return {
    exclude: (service, window) =>
      askFirst({
        ...all,
        title: "Exclude a range",
        words: "The robust normal and the detector learn nothing from these readings. The readings stay in history.",
        span: { window, timeZone: shownZone(feed.timezone) },
        choices: [
          { text: `This service only: ${service}`, asked: { verdict: "exclude", service } },
          { text: `All services of ${feed.name}`, asked: { verdict: "exclude" } },
        ],
      }),
    takeBack: (statement, words) => askFirst({ ...all, title: "Take back the exclusion?", words, choices: [takeBack({ statement })] }),
  };
}

/** @type {(feed: FeedInfo, done: () => void) => ((result: GateResultInfo, approve: boolean) => void) | null} */
export function answering(feed, done) {
  if (!isOperator()) return null;
  return ({ run_id: run, candidate_version: version }, approve) =>
    askFirst({
      title: approve ? `Promote candidate v${version} nevertheless?` : `Reject candidate v${version}?`,
      words: approve ? "The gate refused it. Streams use it within a minute after the promotion." : "The baseline in force stays.",
      button: approve ? "Approve" : "Reject",
      path: of(feed, `gate-results/${encodeURIComponent(run)}/answer`),
      choices: [{ text: "", asked: { approve } }],
      reason: "Reason",
      failed: approve ? "The run has failed; the baseline in force stays." : "It is rejected, so the run has failed, as it should.",
      done,
    });
}

/** @type {(feed: FeedInfo, done: () => void) => ((promotion: PromotionInfo) => void) | null} */
export function rollingBack(feed, done) {
  if (!isOperator()) return null;
  return ({ version }) =>
    askFirst({
      title: `Roll back to v${version}?`,
      words: "Its content is in force again, as a new version. Streams use it within a minute.",
      button: "Roll back",
      path: of(feed, "baseline/rollback"),
      choices: [{ text: "", asked: { version } }],
      reason: "Reason",
      failed: "The baseline in force stays.",
      done,
    });
}

/** @type {(feed: FeedInfo, done: () => void) => ((list: DeadLetterInfo[]) => void) | null} */
export function replaying(feed, done) {
  if (!isOperator()) return null;
  return () =>
    askFirst({
      title: "Replay dead letters?",
      words: `Each dead letter that can be read by now goes back to the topic of ${feed.name}, once. All that read the topic get it, also those that could read it before.`,
      button: "Replay",
      path: of(feed, "dead-letters/replay"),
      choices: [{ text: "", asked: {} }],
      reason: null,
      failed: "Some may have been sent. Nothing is sent twice: replay again.",
      done,
    });
}

/** @type {(done: () => void) => SwitchApplication} */
export function switchingApplications(done) {
  if (!isOperator()) return null;
  return (application, on) =>
    askFirst({
      title: on ? `Switch ${application} on?` : `Switch ${application} off?`,
      words: on ? "Its queries go on where they were." : "Its queries end between two batches, until somebody switches it on again.",
      button: on ? "Switch on" : "Switch off",
      path: `/api/applications/${encodeURIComponent(application)}/stream`,
      choices: [{ text: "", asked: { on } }],
      reason: null,
      failed: "",
      done,
    });
}

/** @type {(done: () => void) => ((feed: string, on: boolean) => void) | null} */
export function switchingScoring(done) {
  if (!isOperator()) return null;
  return (feed, on) =>
    askFirst({
      title: on ? `Switch the scoring stream of ${feed} on?` : `Switch the scoring stream of ${feed} off?`,
      words: on ? `Readings of ${feed} are scored from its last commit on.` : `No reading of ${feed} is scored then, until somebody switches it on again.`,
      button: on ? "Switch on" : "Switch off",
      path: `/api/feeds/${encodeURIComponent(feed)}/stream`,
      choices: [{ text: "", asked: { on } }],
      reason: null,
      failed: "",
      done,
    });
}

let offered = ""; // what the button says: made again only when that changes, so that it keeps the focus

/** @type {(streams: StreamInfo[], feed: FeedInfo, done: () => void) => void} */
export function offerSwitch(streams, feed, done) {
  const scoring = streams.find(({ stream }) => stream === "score");
  const on = scoring !== undefined && !scoring.switched_off;
  const wanted = isOperator() ? `${feed.name} ${on}` : "";
  if (wanted === offered) return;
  offered = wanted;
  const button = make("button", { type: "button", class: "link", text: on ? "Switch the scoring stream off" : "Switch the scoring stream on" });
  button.addEventListener("click", () => switchingScoring(done)?.(feed.name, !on));
  byId("stream-acts").replaceChildren(...(wanted ? [button] : []));
}
