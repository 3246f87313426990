// Drawing at most once a frame, however many records come.

const waiting = /** @type {Set<string>} */ (new Set());

/**
 * Draws it with the next frame, once.
 * @param {string} what
 * @param {() => void} draw
 */
export function soon(what, draw) {
  if (waiting.has(what)) return;
  waiting.add(what);
  requestAnimationFrame(() => {
    waiting.delete(what);
    draw();
  });
}
