// A row of buttons of which one may be on. Each stays the same element while it is offered, so that no click and no focus is lost.

import { make } from "./dom.js";

/** @typedef {{ key: string, name: string, notes: string[], title?: string, amiss?: boolean }} Toggle */

export class Toggles {
  /**
   * @param {HTMLElement} element
   * @param {(key: string) => void} choose
   */
  constructor(element, choose) {
    this.element = element;
    this.choose = choose;
    this.buttons = /** @type {Map<string, HTMLElement>} */ (new Map());
  }

  /**
   * @param {Toggle[]} offered
   * @param {string} on key of the one that is on
   */
  show(offered, on) {
    for (const [key, button] of this.buttons) {
      if (offered.some((each) => each.key === key)) continue;
      button.remove();
      this.buttons.delete(key);
    }
    offered.forEach(({ key, name, notes, title = "", amiss = false }, place) => {
      const button = this.buttons.get(key) ?? this.made(key);
      if (this.element.children[place] !== button) this.element.insertBefore(button, this.element.children[place] ?? null);
      const text = [name, ...notes].join("\n");
      if (button.dataset.text !== text) button.replaceChildren(make("strong", { text: name }), ...notes.flatMap((note) => [" ", make("span", { class: "quiet", text: note })]));
      button.dataset.text = text;
      button.title = title;
      button.className = amiss ? "amiss" : "";
      button.setAttribute("aria-pressed", String(key === on));
    });
  }

  /** @param {string} key */
  made(key) {
    const button = make("button", { type: "button", "data-key": key });
    button.addEventListener("click", () => this.choose(key));
    this.buttons.set(key, button);
    return button;
  }
}
