// The stream of events, opened again whenever it ends, fails or falls silent. EventSource alone gives up at the first answer that
// is no stream of events, and does not notice a line that is dead.

import { pauseAfter } from "./loads.js";

const SILENT = 25_000; // milliseconds; serving says something every 10 s
const SIGNS = ["alive", "promotion", "gate", "stream"]; // of life: what a page may have no handler for

export class Stream {
  /**
   * @param {Record<string, (data: any) => void>} handlers by event
   * @param {() => void} missed called when it is open again: what came in between has to be loaded
   */
  constructor(handlers, missed) {
    const signs = Object.fromEntries(SIGNS.map((name) => [name, () => {}]));
    this.handlers = /** @type {typeof handlers} */ ({ ...signs, ...handlers });
    this.missed = missed;
    this.path = /** @type {string | null} */ (null);
    this.source = /** @type {EventSource | null} */ (null);
    this.opened = false;
    this.triedAt = 0; // by performance.now(), as all times here
    this.heardAt = /** @type {number | null} */ (null); // when serving last said something on this path
    this.failures = 0;
    this.lost = false; // whether something may have been missed
    this.reload = false;
    this.timer = 0;
  }

  /**
   * Follows another path.
   * @param {string} path
   * @param {boolean} [reload] whether what came before it is open has to be loaded, too
   */
  follow(path, reload = false) {
    this.end();
    this.path = path;
    this.reload = reload;
    this.connect();
  }

  end() {
    this.close();
    this.path = null;
    this.heardAt = null;
    this.failures = 0;
    this.lost = false;
  }

  /** To be called every second or so: a silent line is given up. */
  watch() {
    if (this.source && performance.now() - Math.max(this.triedAt, this.heardAt ?? 0) > SILENT) this.lose();
  }

  /** Tries at once where it would have waited. */
  hurry() {
    if (this.path && !this.source) this.connect();
  }

  connect() {
    this.close();
    const source = new EventSource(/** @type {string} */ (this.path));
    this.source = source;
    this.triedAt = performance.now();
    source.addEventListener("open", () => {
      this.opened = true;
      this.failures = 0;
      this.heardAt = performance.now();
      if (this.lost || this.reload) this.missed();
      this.lost = this.reload = false;
    });
    source.addEventListener("error", () => this.lose());
    for (const [name, handle] of Object.entries(this.handlers)) {
      source.addEventListener(name, (event) => {
        this.heardAt = performance.now();
        handle(JSON.parse(/** @type {MessageEvent} */ (event).data));
      });
    }
  }

  lose() {
    this.close();
    this.lost = true;
    this.timer = setTimeout(() => this.connect(), pauseAfter(this.failures));
    this.failures += 1;
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.opened = false;
  }
}
