// The lines of a chart of one's own as a list: the key of the chart, its values as text, and what can be changed.

import { arrange, clockOf, make } from "./dom.js";
import { figure } from "./explore_chart.js";
import { columnsOf, idOf, nameOf } from "./explore_lines.js";

/** @import { ChartLine, Columns } from "../page.d.ts" */
/** @typedef {{ line: ChartLine, table: Columns, state: "loading" | "failed" | "loaded", note: string }} Row */
/** @typedef {{ element: HTMLElement, name: HTMLElement, value: HTMLElement, summary: HTMLElement, note: HTMLElement, axis: HTMLSelectElement }} Item */

export class LineList {
  /**
   * @param {HTMLElement} element
   * @param {(id: string) => void} remove
   * @param {(id: string, right: boolean) => void} turn puts it on an axis
   */
  constructor(element, remove, turn) {
    this.element = element;
    this.remove = remove;
    this.turn = turn;
    this.items = /** @type {Map<string, Item>} */ (new Map());
  }

  /**
   * @param {Row[]} rows
   * @param {number | null} pointed seconds
   * @param {string} zone
   */
  show(rows, pointed, zone) {
    const ids = rows.map(({ line }) => idOf(line));
    for (const id of this.items.keys()) if (!ids.includes(id)) this.items.delete(id);
    const items = rows.map(({ line }, place) => this.items.get(ids[place]) ?? this.made(line));
    arrange(this.element, items.map((each) => each.element));
    rows.forEach((each, place) => draw(items[place], each, place, pointed, zone));
  }

  /** @param {ChartLine} line */
  made(line) {
    const [id, name] = [idOf(line), nameOf(line)];
    const axis = /** @type {HTMLSelectElement} */ (make("select", { "aria-label": `Axis of ${name}` }, make("option", { value: "left", text: "left axis" }), make("option", { value: "right", text: "right axis" })));
    const button = make("button", { type: "button", class: "link", text: "Remove", "aria-label": `Remove ${name}` });
    axis.addEventListener("change", () => this.turn(id, axis.value === "right"));
    button.addEventListener("click", () => this.remove(id));
    const item = { name: make("strong", { class: "name", text: name }), value: make("span", { class: "value" }), summary: make("p", { class: "quiet" }), note: make("p", { class: "doubt" }), axis };
    const element = make("li", {}, make("div", { class: "line" }, item.name, item.value, make("span", { class: "turns" }, axis, button)), item.summary, item.note);
    this.items.set(id, { ...item, element });
    return { ...item, element };
  }
}

/** @type {(item: Item, row: Row, place: number, pointed: number | null, zone: string) => void} */
function draw(item, { line, table, state, note }, place, pointed, zone) {
  item.element.className = `line-${place + 1}${line.right ? " right" : ""}${columnsOf(line).length > 1 ? " band" : ""}`;
  item.axis.value = line.right ? "right" : "left";
  write(item.value, valueAt(table, pointed));
  write(item.summary, state === "loaded" ? summary(table, zone) : state === "loading" ? "Loading …" : "It is not loaded.");
  write(item.note, note);
  item.note.hidden = !note;
}

/** @type {(element: HTMLElement, text: string) => void} */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @type {(values: (number | null)[]) => string} */
const written = (values) => (values.every((each) => each === null) ? "–" : values.map(figure).join(" to "));

/** At the pointer: what the line has there or last before; without a pointer, its newest value. @type {(table: Columns, pointed: number | null) => string} */
function valueAt([seconds, ...columns], pointed) {
  const index = pointed === null ? newest(columns) : seconds.findLastIndex((each) => each !== null && each <= pointed);
  return written(columns.map((column) => column[index] ?? null));
}

/** @type {(columns: Columns) => number} */
const newest = (columns) => columns[0].findLastIndex((_, index) => columns.some((column) => column[index] !== null));

/** @type {(table: Columns, zone: string) => string} */
function summary([seconds, ...columns], zone) {
  const all = columns.flat().filter((each) => each !== null);
  if (!all.length) return "It has no value in this window.";
  const last = newest(columns);
  const many = seconds.filter((_, index) => columns.some((column) => column[index] !== null)).length;
  const [low, high] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const at = clockOf(zone).full(1000 * /** @type {number} */ (seconds[last]));
  return `${many.toLocaleString("en")} value${many === 1 ? "" : "s"}, lowest ${figure(low)}, highest ${figure(high)}, newest ${written(columns.map((column) => column[last]))} at ${at}.`;
}
