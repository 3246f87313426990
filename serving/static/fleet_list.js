// The list of services. Only the lines in sight are in the document, so thousands cost no more than a screenful.

import { count, make, offBy } from "./dom.js";
import { words } from "./fleet_lines.js";
import { onOtherColours, sparkline } from "./sparkline.js";

/** @import { FleetLine } from "../page.d.ts" */
/** @import { FleetState } from "./fleet_state.js" */

const BEYOND = 6; // lines above and below the window that are there already

/** @typedef {{ item: HTMLElement, control: HTMLElement, canvas: HTMLCanvasElement, drawn: unknown[] }} Shown */

export class FleetList {
  /**
   * @param {HTMLElement} element
   * @param {FleetState} state
   * @param {(key: string) => void} unfold folds or unfolds a group
   */
  constructor(element, state, unfold) {
    this.element = element;
    this.state = state;
    this.unfold = unfold;
    this.lines = /** @type {FleetLine[]} */ ([]);
    this.shown = /** @type {Map<string, Shown>} */ (new Map());
    this.active = /** @type {string | null} */ (null); // key of the line that the keyboard is at
    this.height = 0; // of a line, as the style has it
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("focusin", (event) => (this.active = keyOf(event.target) ?? this.active));
    addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.measure());
    onOtherColours(() => this.forget());
  }

  /** @param {FleetLine[]} lines */
  show(lines) {
    this.lines = lines;
    if (!lines.some((each) => each.key === this.active)) this.active = lines[0]?.key ?? null;
    this.draw();
  }

  /** Takes the height of a line from the style again: it is another one on a narrow screen. */
  measure() {
    this.height = 0;
    this.forget();
  }

  forget() {
    for (const each of this.shown.values()) each.drawn = [];
    this.draw();
  }

  /** Puts the lines in sight into the document, in their order, and fills them. */
  draw() {
    if (!this.lines.length) {
      this.element.replaceChildren();
      this.element.style.height = "0";
      this.shown.clear();
      return;
    }
    this.height ||= heightOfALine(this.element);
    this.element.style.height = `${this.height * this.lines.length}px`;
    const top = this.element.getBoundingClientRect().top;
    const [first, last] = [-top / this.height - BEYOND, (innerHeight - top) / this.height + BEYOND];
    const focused = this.element.contains(document.activeElement) ? this.active : null;
    const wanted = new Map();
    this.lines.forEach((line, place) => {
      if ((place >= first && place <= last) || line.key === focused) wanted.set(line.key, [line, place]);
    });
    for (const [key, { item }] of this.shown) {
      if (wanted.has(key)) continue;
      item.remove();
      this.shown.delete(key);
    }
    const tabbed = wanted.has(this.active) ? this.active : wanted.keys().next().value; // one line is always in the order of tabs
    let next = this.element.firstElementChild;
    for (const [key, [line, place]] of wanted) {
      const known = this.shown.get(key) ?? this.made(line);
      if (known.item === next) next = next.nextElementSibling;
      else this.element.insertBefore(known.item, next);
      this.fill(known, line, place, key === tabbed);
    }
    if (focused !== null && !this.element.contains(document.activeElement)) this.shown.get(focused)?.control.focus({ preventScroll: true });
  }

  /** @param {FleetLine} line */
  made(line) {
    const control = line.members.length ? make("button", { type: "button", class: "link" }) : make("a", { href: `/?${new URLSearchParams({ feed: line.row.feed, service: line.row.name })}` });
    if (line.members.length) control.addEventListener("click", () => this.unfold(line.key));
    const canvas = /** @type {HTMLCanvasElement} */ (make("canvas", { class: "spark", "aria-hidden": "true" }));
    const item = make(
      "li",
      { "data-key": line.key },
      make("span", { class: "status" }, make("span", { class: "pill" })),
      make("span", { class: "who" }, control, make("span", { class: "quiet feed" })),
      make("span", { class: "what" }, make("span", { class: "how" }), make("time", { class: "quiet" })),
      canvas,
      ...["value", "expected", "off"].map((name) => make("span", { class: name })),
    );
    const shown = { item, control, canvas, drawn: [] };
    this.shown.set(line.key, shown);
    return shown;
  }

  /**
   * @param {Shown} shown
   * @param {FleetLine} line
   * @param {number} place
   * @param {boolean} tabbed
   */
  fill({ item, control, canvas, drawn }, line, place, tabbed) {
    const { row, members, member } = line;
    const { name, label, what, since, at } = words(line, this.state);
    /** @type {(selector: string, text: string) => void} */
    const say = (selector, text) => write(/** @type {HTMLElement} */ (item.querySelector(selector)), text);
    item.style.transform = `translateY(${place * this.height}px)`;
    set(item, "class", `row is-${row.status}${member ? " member" : ""}${members.length ? " group" : ""}`);
    set(item, "aria-posinset", String(place + 1));
    set(item, "aria-setsize", String(this.lines.length));
    set(control, "tabindex", tabbed ? "0" : "-1");
    if (members.length) set(control, "aria-expanded", String(this.lines[place + 1]?.member === true));
    write(control, name);
    set(control, "title", name.slice(0, 300));
    say(".pill", label);
    say(".feed", row.feed);
    say(".how", what);
    set(/** @type {HTMLElement} */ (item.querySelector(".how")), "title", what.slice(0, 300));
    say("time", since);
    set(/** @type {HTMLElement} */ (item.querySelector("time")), "datetime", at ?? "");
    const figures = members.length ? ["", "", ""] : [count(row.value), count(row.expected), offBy(row.pct)];
    ["value", "expected", "off"].forEach((part, index) => say(`.${part}`, figures[index]));
    const end = this.state.ends.get(row.feed) ?? 0;
    if (drawn[0] === row.points && drawn[1] === end) return;
    sparkline(canvas, members.length ? [] : row.points, end);
    drawn.splice(0, 2, row.points, end);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    const place = this.lines.findIndex((each) => each.key === this.active);
    const page = Math.max(1, Math.floor(innerHeight / this.height) - 3);
    const last = this.lines.length - 1;
    const steps = { ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: last };
    const line = this.lines[place];
    if (key in steps) this.go(Math.min(last, Math.max(0, steps[/** @type {keyof typeof steps} */ (key)])));
    else if ((key === "ArrowRight" || key === "ArrowLeft") && line?.members.length) {
      if ((this.lines[place + 1]?.member === true) === (key === "ArrowLeft")) this.unfold(line.key);
    } else return;
    event.preventDefault();
  }

  /**
   * Brings the keyboard to a line, and the line into sight.
   * @param {number} place
   */
  go(place) {
    if (!this.lines.length) return;
    this.active = this.lines[place].key;
    const bar = document.getElementById("filter")?.offsetHeight ?? 0;
    const top = this.element.getBoundingClientRect().top + place * this.height;
    if (top < bar) scrollBy(0, top - bar - this.height);
    else if (top + this.height > innerHeight) scrollBy(0, top + 2 * this.height - innerHeight);
    this.draw();
    this.shown.get(this.active)?.control.focus({ preventScroll: true });
  }
}

/** @type {(target: EventTarget | null) => string | undefined} */
const keyOf = (target) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("li"))?.dataset.key;

/** @type {(element: HTMLElement, text: string) => void} */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @type {(element: HTMLElement, name: string, value: string) => void} */
function set(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** @param {HTMLElement} list */
function heightOfALine(list) {
  const probe = make("li", { class: "row" });
  list.append(probe);
  const height = probe.offsetHeight;
  probe.remove();
  return height;
}
