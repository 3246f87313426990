// The ranges of the chosen service that people excluded: shaded in the chart, a bar for each below it, and who excluded it and why.

import { extent, hatch } from "./chart_incidents.js";
import { chosen, path } from "./choice.js";
import { arrange, byId, clockOf, make } from "./dom.js";
import { getAll } from "./loads.js";
import { excluding } from "./operator.js";
import { serverNow } from "./server_time.js";
import { shownZone } from "./zone.js";

/** @import { Plot, StatementInfo } from "../page.d.ts" */
/** @import { Chart } from "./chart.js" */
/** @typedef {StatementInfo & { start: string, end: string }} Excluded */

const LEAST = 24; // pixels: a bar that is narrower is hard to meet with a finger
const HEIGHT = 28; // pixels, from bar to bar

export class ExcludedRanges {
  /**
   * @param {Chart} chart
   * @param {() => AbortSignal} left ends the requests of a choice that was left
   * @param {() => void} done called when a range was excluded, or taken back
   */
  constructor(chart, left, done) {
    this.chart = chart;
    this.left = left;
    this.done = done;
    this.loaded = /** @type {Excluded[]} */ ([]);
    this.pointed = /** @type {number | null} */ (null); // number of the statement whose words are shown
    this.bars = /** @type {Map<number, HTMLElement>} */ (new Map());
    chart.layer = this;
    byId("exclude").addEventListener("click", () => this.exclude());
    byId("take-back").addEventListener("click", () => this.takeBack());
    byId("excluded-bars").addEventListener("keydown", (event) => this.step(event));
  }

  async load() {
    const query = new URLSearchParams({ service: chosen.service ?? "", kind: "exclude", limit: "500", ...(chosen.span ?? { minutes: String(chosen.minutes) }) });
    this.loaded = chosen.known ? await getAll(path(`/statements?${query}`), this.left()) : [];
    if (this.chart.plot) this.chart.plot.redraw(false);
    else this.place(null);
  }

  /** Those of what is chosen: others may still be loaded. */
  get shown() {
    return this.loaded.filter(({ feed, service }) => feed === chosen.feed?.name && (service === null || service === chosen.service));
  }

  /** Shades them. @param {Plot} plot @param {(name: string) => string} colour */
  shade(plot, colour) {
    for (const each of this.shown) hatch(plot, each, colour("excluded"));
  }

  /** Puts the bars below what is shaded. @param {Plot | null} plot null: there is no chart */
  place(plot) {
    byId("exclude").hidden = plot === null || this.acts() === null;
    const seen = plot ? this.shown.flatMap((each) => ({ each, at: extent(plot, each) })).filter(({ at }) => at !== null) : [];
    const shown = /** @type {{ each: Excluded, at: { left: number, right: number } }[]} */ (seen).sort((a, b) => a.at.left - b.at.left);
    byId("excluded").hidden = !shown.length;
    const width = plot ? plot.bbox.width / devicePixelRatio : 0;
    const before = plot ? plot.bbox.left / devicePixelRatio : 0;
    const ends = /** @type {number[]} */ ([]); // of the last bar in each row, pixels
    const placed = shown.map(({ each, at }) => {
      const long = Math.max(LEAST, at.right - at.left);
      const left = Math.max(0, Math.min(at.left, width - long));
      const row = [...ends, -1].findIndex((end) => end <= left);
      ends[row] = left + long;
      const bar = this.bar(each);
      Object.assign(bar.style, { left: `${before + left}px`, width: `${long}px`, top: `${row * HEIGHT}px` });
      return { bar, number: each.statement };
    });
    this.bars = new Map(placed.map(({ bar, number }) => [number, bar]));
    arrange(byId("excluded-bars"), placed.map(({ bar }) => bar));
    byId("excluded-bars").style.height = `${ends.length * HEIGHT}px`;
    this.reachable();
    this.tell();
  }

  /** @param {Excluded} each */
  bar(each) {
    const item = this.bars.get(each.statement) ?? this.madeBar(each.statement);
    const button = /** @type {HTMLElement} */ (item.firstChild);
    const text = inWords(each);
    if (button.getAttribute("aria-label") !== text) button.setAttribute("aria-label", text);
    return item;
  }

  /** @param {number} number */
  madeBar(number) {
    const button = make("button", { type: "button", "data-statement": number });
    for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, () => this.point(number));
    return make("li", {}, button);
  }

  /** Shows the words of the newest one at a place of the plot, if there is one. @type {(plot: Plot, left: number) => void} */
  pointAt(plot, left) {
    const there = this.shown.filter((each) => {
      const at = extent(plot, each);
      return at !== null && at.left <= left && left <= at.right;
    });
    if (there.length) this.point(Math.max(...there.map(({ statement }) => statement)));
  }

  /** @param {number} number of a statement */
  point(number) {
    this.pointed = number;
    this.reachable();
    this.tell();
  }

  /** The one whose words are shown, if it is still there. */
  get told() {
    return this.shown.find(({ statement }) => statement === this.pointed && this.bars.has(statement));
  }

  tell() {
    const { told } = this;
    const text = told ? inWords(told) : "";
    if (byId("excluded-said").textContent !== text) byId("excluded-said").textContent = text;
    byId("take-back").hidden = !told || this.acts() === null;
    for (const [number, bar] of this.bars) bar.classList.toggle("pointed", number === told?.statement);
  }

  /** Of all bars, the Tab key reaches one: the one whose words are shown, or else the first. */
  reachable() {
    const { told } = this;
    const bars = [...this.bars];
    bars.forEach(([number, { firstChild }], place) => (/** @type {HTMLElement} */ (firstChild).tabIndex = (told ? number === told.statement : place === 0) ? 0 : -1));
  }

  /** @param {KeyboardEvent} event */
  step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const buttons = [...this.bars.values()].map(({ firstChild }) => /** @type {HTMLElement} */ (firstChild));
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    buttons[buttons.findIndex((each) => each === document.activeElement) + by]?.focus();
  }

  acts() {
    return chosen.feed ? excluding(chosen.feed, this.done) : null;
  }

  /** Asks for a range, at first what the chart shows until now. */
  exclude() {
    const [from, to] = this.chart.window;
    this.acts()?.exclude(chosen.service ?? "", [from, Math.min(to, Math.floor(serverNow() / 1000) * 1000)]);
  }

  takeBack() {
    const { told } = this;
    if (told) this.acts()?.takeBack(told.statement, inWords(told));
  }
}

/** What is excluded, who says so, when and why. @param {Excluded} excluded */
function inWords({ service, start, end, by, at, reason }) {
  const zone = clockOf(shownZone(chosen.feed.timezone));
  return `${service ?? "All services"}, ${zone.dated(start)} to ${zone.dated(end)}: excluded by ${by} (${zone.dated(at)}): ${reason}`;
}
