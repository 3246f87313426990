// The difference between two versions, or a version and a candidate, as a picture: a row for each service, a cell for each day type, coloured by how much it changed.

import { byId, count, DAYS, empty, make } from "./dom.js";

/** @import { BaselineChange } from "../page.d.ts" */
/** @import { ServiceChange } from "./baseline_changes.js" */
/** @typedef {{ service: string | null, day: number | null }} Cell */

const PAGE = 50; // services
const STEPS = [0.05, 5, 15, 40]; // percent: a cell above one has its colour
const SIDE = Object.fromEntries([["ArrowLeft", -1], ["ArrowRight", 1], ["ArrowUp", 1 - DAYS.length], ["ArrowDown", DAYS.length - 1]]);
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export class ChangesTable {
  /** @param {(service: string, day: number) => void} choose called when a cell is chosen */
  constructor(choose) {
    this.choose = choose;
    this.list = /** @type {ServiceChange[]} */ ([]);
    this.chosen = /** @type {Cell} */ ({ service: null, day: null });
    this.search = "";
    this.shown = PAGE;
    this.body = byId("changes-rows");
    this.body.addEventListener("keydown", (event) => this.step(event));
    byId("changes-more").addEventListener("click", () => {
      this.shown += PAGE;
      this.draw();
    });
  }

  /** @param {ServiceChange[]} list shows these, from the first on */
  show(list) {
    this.list = list;
    this.shown = PAGE;
    this.draw();
  }

  /** @param {string} text shows only services with this in their name */
  find(text) {
    this.search = text.trim().toLowerCase();
    this.shown = PAGE;
    this.draw();
  }

  draw() {
    const found = this.list.filter(({ service }) => service.toLowerCase().includes(this.search));
    this.body.replaceChildren(...found.slice(0, this.shown).map((each) => this.row(each)));
    byId("changes").hidden = !found.length;
    byId("changes-find").hidden = !this.list.length;
    byId("changes-more").hidden = found.length <= this.shown;
    byId("changes-more").textContent = `Show more of ${found.length.toLocaleString("en")} services`;
    empty(byId("changes-none"), this.list.length && !found.length ? "No service that changed has this in its name." : null);
    this.mark(this.chosen);
  }

  /** @param {ServiceChange} each */
  row({ service, days }) {
    const cells = DAYS.slice(1).map((name, index) => {
      const day = index + 1;
      const change = days.get(day);
      const button = make("button", { type: "button", tabindex: -1, "data-service": service, "data-day": name.slice(0, 3), title: inWords(change), text: figure(change) });
      button.addEventListener("click", () => this.choose(service, day));
      return make("td", { class: `cell ${colour(change)}` }, button);
    });
    return make("tr", {}, make("th", { scope: "row", class: "name", text: service }), ...cells);
  }

  /** @param {Cell} chosen marks it; Tab leads there, or to the first cell */
  mark(chosen) {
    this.chosen = chosen;
    const cells = this.cells();
    const own = cells.find(({ dataset }) => dataset.service === chosen.service && dataset.day === DAYS[chosen.day ?? 0].slice(0, 3));
    for (const each of cells) {
      each.tabIndex = each === (own ?? cells[0]) ? 0 : -1;
      each.ariaCurrent = each === own ? "true" : null;
    }
  }

  cells() {
    return /** @type {HTMLElement[]} */ ([...this.body.querySelectorAll(".cell button")]);
  }

  /** An arrow key goes to the cell beside. @param {KeyboardEvent} event */
  step(event) {
    const cells = this.cells();
    const from = cells.indexOf(/** @type {HTMLElement} */ (event.target));
    const to = cells[from + SIDE[event.key]];
    if (!to) return;
    event.preventDefault();
    cells[from].tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
}

/** @param {BaselineChange | undefined} change undefined: both expect the same */
function figure(change) {
  if (!change) return "=";
  if (change.change !== "changed") return change.change === "added" ? "new" : "gone";
  if (change.pct === null) return "≠";
  const off = change.pct - 100;
  if (off >= 999.5) return `×${whole.format(change.pct / 100)}`;
  const text = (Math.abs(off) < 10 ? tenths : whole).format(Math.abs(off));
  return `${text === "0" ? "±" : off > 0 ? "+" : "−"}${text} %`;
}

/** @param {BaselineChange | undefined} change */
function colour(change) {
  if (!change || change.change !== "changed") return change?.change ?? "same";
  if (change.pct === null) return "other";
  const off = Math.abs(change.pct - 100);
  const step = STEPS.filter((each) => off > each).length;
  return step ? `${change.pct > 100 ? "more" : "less"}-${step}` : "other";
}

/** @param {BaselineChange | undefined} change */
function inWords(change) {
  if (!change) return "Both expect the same";
  const means = `Mean ${count(change.mean_before)} before, ${count(change.mean_after)} after`;
  return change.largest === null ? means : `${means}; largest change ${change.largest > 0 ? "+" : ""}${count(change.largest)} at ${change.largest_at}`;
}
