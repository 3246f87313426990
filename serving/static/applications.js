// The applications of queries: how each is, and for an operator the buttons that switch it.

import { byId, empty, make } from "./dom.js";

/** @import { QueryInfo, StreamInfo } from "../page.d.ts" */
/** @typedef {((application: string, on: boolean) => void) | null} SwitchApplication of an operator; null for others */

const PILLS = { on: "running", off: "stopped", failing: "dead" };

let shown = ""; // what is drawn: drawn again only when it changed, so that a button keeps the focus

/**
 * @param {QueryInfo[]} queries
 * @param {StreamInfo[]} streams
 * @param {SwitchApplication} switchIt
 */
export function applications(queries, streams, switchIt) {
  const names = [...new Set(queries.map(({ application }) => application))].sort();
  const found = names.map((name) => {
    const stream = streams.find((each) => each.feed === name && each.stream === "queries");
    const how = stateOf(stream);
    return { name, how, queries: queries.filter((each) => each.application === name).map((each) => each.name), troubles: how === "failing" ? [stream?.problem, stream?.last_error] : [] };
  });
  const wanted = JSON.stringify([found, switchIt === null]);
  if (wanted === shown) return;
  shown = wanted;
  byId("applications").replaceChildren(...found.map((each) => row(each, switchIt)));
  empty(byId("applications-empty"), found.length ? null : "No query is declared, so there is no application.");
}

/**
 * One that has never run is off. One that dies or does not report fails, though its supervision restarts it.
 * @param {StreamInfo | undefined} stream
 * @returns {keyof PILLS}
 */
function stateOf(stream) {
  if (!stream || stream.switched_off) return "off";
  return stream.given_up || stream.problem !== null ? "failing" : "on";
}

/**
 * One that fails can be switched either way: its DAG may be paused, or not.
 * @param {{ name: string, how: keyof PILLS, queries: string[], troubles: (string | null | undefined)[] }} application
 * @param {SwitchApplication} switchIt
 */
function row({ name, how, queries, troubles }, switchIt) {
  const element = make(
    "li",
    {},
    make("div", { class: "line" }, make("strong", { text: name }), make("span", { class: `pill ${PILLS[how]}`, text: how })),
    make("p", { class: "quiet", text: queries.join(", ") }),
  );
  for (const trouble of troubles) if (trouble) element.append(make("p", { class: "trouble", text: trouble }));
  if (switchIt) element.append(make("p", { class: "acts" }, ...[true, false].filter((on) => how !== (on ? "on" : "off")).map((on) => button(name, on, switchIt))));
  return element;
}

/** @type {(name: string, on: boolean, switchIt: NonNullable<SwitchApplication>) => HTMLElement} */
function button(name, on, switchIt) {
  const text = `Switch ${on ? "on" : "off"}`;
  const element = make("button", { type: "button", class: "link", text, "aria-label": `${text} ${name}` });
  element.addEventListener("click", () => switchIt(name, on));
  return element;
}
