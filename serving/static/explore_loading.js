// Loading what the lines of a chart of one's own are drawn of, again and again while the page is seen.

import { sourceOf } from "./explore_lines.js";
import { Readings, sourceFor } from "./explore_sources.js";
import { failing, leave, Refused, run } from "./loads.js";
import { serverNow } from "./server_time.js";

/** @import { ChartLine, ScoredPoint } from "../page.d.ts" */
/** @import { Source } from "./explore_sources.js" */
/** @typedef {{ source: Source, left: AbortController, timer: number, loaded: boolean }} Entry `loaded`: in the window that is chosen */

export class Loading {
  /**
   * @param {() => number[]} window epoch milliseconds
   * @param {() => number} width pixels
   * @param {() => void} came called when something was loaded
   */
  constructor(window, width, came) {
    this.window = window;
    this.width = width;
    this.came = came;
    this.entries = /** @type {Map<string, Entry>} */ (new Map());
    this.at = Number.NaN; // when something was loaded last
  }

  /** What was asked before is left. @param {Entry} entry */
  load(entry) {
    clearTimeout(entry.timer);
    entry.left.abort();
    entry.left = new AbortController();
    const { source, left: { signal } } = entry;
    void run(source.id, async () => {
      await source.load(this.window(), this.width(), signal);
      entry.loaded = true;
      this.at = serverNow();
      this.came();
    }).then(() => {
      if (!signal.aborted) entry.timer = setTimeout(() => document.hidden || this.load(entry), source.pause);
    });
  }

  all() {
    for (const entry of this.entries.values()) this.load(entry);
  }

  /** Loads all again, as another window was chosen. */
  forget() {
    for (const entry of this.entries.values()) entry.loaded = false;
    this.all();
  }

  /** Loads what new lines need, and leaves what no line needs any more. @param {ChartLine[]} lines */
  keepUp(lines) {
    const wanted = new Map(lines.map((line) => [sourceOf(line), line]));
    for (const [id, entry] of this.entries) {
      if (wanted.has(id)) continue;
      clearTimeout(entry.timer);
      entry.left.abort();
      leave(id);
      this.entries.delete(id);
    }
    for (const [id, line] of wanted) {
      if (this.entries.has(id)) continue;
      const entry = { source: sourceFor(line), left: new AbortController(), timer: 0, loaded: false };
      this.entries.set(id, entry);
      this.load(entry);
    }
  }

  /** @type {(line: ChartLine) => Entry} */
  of(line) {
    return /** @type {Entry} */ (this.entries.get(sourceOf(line)));
  }

  /** @type {(line: ChartLine) => "loaded" | "failed" | "loading"} */
  state(line) {
    const { source, loaded } = this.of(line);
    return loaded ? "loaded" : failing.has(source.id) ? "failed" : "loading";
  }

  /** What there is to say of it: why it could not be loaded, or what is amiss with it. @param {ChartLine} line */
  note(line) {
    const { source } = this.of(line);
    return failing.get(source.id)?.message ?? source.note;
  }

  /** Those that are read and that serving still knows. */
  readings() {
    return [...this.entries.values()].flatMap(({ source }) => (source instanceof Readings && source.series !== null && !gone(source) ? [source] : []));
  }

  /** Takes a live reading; whether a line is of its service. @param {ScoredPoint} point */
  take(point) {
    return this.readings().filter((each) => each.take(point)).length > 0;
  }
}

/** @param {Source} source */
function gone({ id }) {
  const failure = failing.get(id);
  return failure instanceof Refused && failure.status === 404;
}
