// Moving and zooming a chart along time by wheel, pointer and touch. What is under the hand follows at once; when the hand rests, it
// is loaded.

import { moved, zoomed } from "./ranges.js";

/** @import { TimeChart } from "./time_chart.js" */

const REST = 250; // milliseconds
const SLOP = 8; // pixels that a finger moves before it drags
const SPEED = 1.002; // zoom for each pixel of the wheel
const LINE = 30; // pixels of a wheel that counts lines

/**
 * Follows wheel, pointer and touch on a chart. The wheel alone goes on scrolling the page: with Ctrl or Cmd, as of two fingers on a
 * touchpad, it zooms at the pointer; sideways, or with Shift, it moves. Dragging the time axis, or anywhere with Shift, moves; a
 * finger moves, two zoom.
 * @param {TimeChart} chart
 */
export function gestures(chart) {
  const { element } = chart;
  const pointers = /** @type {Map<number, { x: number, y: number }>} */ (new Map()); // where each is
  let from = { x: 0, spread: 0, window: [0, 0], moving: false }; // how the gesture began
  let resting = 0;

  /** @type {(x: number) => number} What part of the plot lies to the left of there. */
  const part = (x) => {
    const box = chart.plot?.over.getBoundingClientRect();
    return box ? (x - box.left) / box.width : 0;
  };
  const width = () => chart.plot?.over.clientWidth ?? 1;

  /** @type {(window: number[]) => void} */
  function show(window) {
    chart.look(window);
    clearTimeout(resting);
    if (!pointers.size) resting = setTimeout(() => chart.settle(), REST);
  }

  element.addEventListener(
    "wheel",
    (event) => {
      if (!chart.plot) return;
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
      const sideways = event.shiftKey ? event.deltaX || event.deltaY : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
      if (event.ctrlKey || event.metaKey) show(zoomed(chart.window, SPEED ** (event.deltaY * unit), part(event.clientX), chart.interval));
      else if (sideways) show(moved(chart.window, (sideways * unit) / width()));
      else return;
      event.preventDefault();
    },
    { passive: false },
  );

  /** The gesture begins again with the pointers that are down now. */
  function begin() {
    const [first, second] = pointers.values();
    if (!first) return;
    from = { x: second ? (first.x + second.x) / 2 : first.x, spread: second ? Math.abs(first.x - second.x) : 0, window: chart.window, moving: from.moving };
  }

  element.addEventListener("pointerdown", (event) => {
    const grip = event.shiftKey || /** @type {Element} */ (event.target).closest(".u-axis");
    if (!chart.plot || pointers.size === 2 || (event.pointerType !== "touch" && (!grip || event.button !== 0))) return;
    from.moving = event.pointerType !== "touch";
    if (from.moving) event.preventDefault();
    element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    begin();
  });
  element.addEventListener("pointermove", (event) => {
    const pointer = pointers.get(event.pointerId);
    if (!pointer) return;
    [pointer.x, pointer.y] = [event.clientX, event.clientY];
    const [first, second] = pointers.values();
    const x = second ? (first.x + second.x) / 2 : first.x;
    if (!second && !from.moving && Math.abs(x - from.x) < SLOP) return;
    from.moving = true;
    const by = moved(from.window, (from.x - x) / width());
    const spread = second ? Math.max(SLOP, Math.abs(first.x - second.x)) : 0;
    show(second ? zoomed(by, Math.max(SLOP, from.spread) / spread, part(x), chart.interval) : by);
  });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
    element.addEventListener(name, (event) => {
      if (!pointers.delete(event.pointerId)) return;
      if (pointers.size) begin();
      else chart.settle();
    });
  }
}
