// The rows of a list or a table, each by its key. One that stays the same keeps its element, and with it the focus.

import { arrange, make } from "./dom.js";

/** @typedef {{ key: string, from: unknown, content: () => (Node | string)[] }} Row made again only if `from`, as JSON, has changed */

export class KeptRows {
  /**
   * @param {HTMLElement} element
   * @param {string} [tag] of a row
   */
  constructor(element, tag = "li") {
    this.element = element;
    this.tag = tag;
    this.rows = /** @type {Map<string, { row: HTMLElement, made: string }>} */ (new Map());
  }

  /**
   * The elements of these rows, in this order.
   * @param {Row[]} wanted
   */
  show(wanted) {
    const before = this.rows;
    this.rows = new Map();
    for (const { key, from, content } of wanted) {
      const made = JSON.stringify(from);
      const known = before.get(key);
      const row = known?.row ?? make(this.tag);
      if (known?.made !== made) refill(row, content());
      this.rows.set(key, { row, made });
    }
    const shown = [...this.rows.values()].map(({ row }) => row);
    arrange(this.element, shown);
    return shown;
  }
}

/** Gives a row other parts. The focus stays at the same control. @type {(row: HTMLElement, parts: (Node | string)[]) => void} */
function refill(row, parts) {
  const focusable = () => /** @type {HTMLElement[]} */ ([...row.querySelectorAll("a, button, summary")]);
  const had = document.activeElement;
  const place = row.contains(had) ? focusable().findIndex((each) => each === had) : -1;
  row.replaceChildren(...parts);
  if (place >= 0) (focusable()[place] ?? focusable().at(-1))?.focus();
}
