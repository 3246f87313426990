// The panel of a feed's streams: how each runs, what comes in and what waits.

import { age, make, nothing } from "./dom.js";

/** @import { FeedInfo, StreamHealth, StreamInfo } from "../page.d.ts" */
/** @import { KeptRows } from "./kept_rows.js" */

/**
 * Ages go on counting between two answers.
 * @param {KeptRows} rows
 * @param {StreamInfo[]} list
 * @param {number} elapsed seconds since the answer
 * @param {FeedInfo} feed
 */
export function streams(rows, list, elapsed, feed) {
  const none = { key: "", from: feed.name, content: () => [nothing("No stream of this feed has run yet. In Airflow, switch on the DAG", `supervise_streams.${feed.name}`)] };
  const shown = rows.show(list.length ? list.map(streamRow) : [none]);
  list.forEach((each, place) => {
    write(shown[place], ".beat", beat(each, elapsed));
    write(shown[place], ".flow", flow(each.health));
  });
}

/** @param {StreamInfo} each */
function streamRow({ feed, stream, state, spark_history: page, problem, last_error: error }) {
  const key = `${feed}.${stream}`;
  const content = () => [
    make("div", { class: "line" }, make("strong", { text: key }), make("span", { class: `pill ${state}`, text: state })),
    make("p", { class: "quiet" }, make("span", { class: "beat" }), ...(page ? [" · ", make("a", { href: page, text: "Spark" })] : [])),
    make("p", { class: "quiet flow" }),
    ...[problem, error].flatMap((text) => (text ? [make("p", { class: "trouble", text })] : [])),
  ];
  return { key, from: [key, state, page, problem, error], content };
}

/** @type {(row: HTMLElement, part: string, text: string) => void} */
function write(row, part, text) {
  const element = /** @type {HTMLElement} */ (row.querySelector(part));
  if (element.textContent !== text) element.textContent = text;
}

/** @type {(stream: StreamInfo, elapsed: number) => string} */
function beat({ heartbeat_age_seconds: seconds, baseline_version: version, pid }, elapsed) {
  const baseline = version === null ? null : version < 0 ? "no baseline" : `baseline v${version}`;
  return [seconds === null ? "no heartbeat yet" : `heartbeat ${age(seconds + elapsed)} ago`, baseline, pid && `pid ${pid}`].filter(Boolean).join(" · ");
}

/**
 * What comes in, what waits and what was bad, in a line.
 * @param {StreamHealth} health
 */
function flow({ lag_records: waiting, lag_seconds: since, input_per_second: rate, dead_letters: dead }) {
  if (waiting === null) return "lag not measured yet";
  const lag = waiting ? `${waiting.toLocaleString("en")} waiting, the oldest ${age(since ?? 0)}` : "no lag";
  return [rate !== null && `${rate.toLocaleString("en")} readings/s`, lag, dead ? `${dead.toLocaleString("en")} dead letters` : ""].filter(Boolean).join(" · ");
}
