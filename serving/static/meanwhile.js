// What comes while an answer is awaited. The answer may be older, so it must not undo what came.

/** @template T of what comes */
export class Meanwhile {
  constructor() {
    this.open = /** @type {Set<T[]>} */ (new Set()); // a list for each answer that is awaited
  }

  /** @param {T} one that came */
  take(one) {
    for (const list of this.open) list.push(one);
  }

  /**
   * The answer, and what came since it was asked for.
   * @template A
   * @param {Promise<A>} answer
   * @returns {Promise<[A, T[]]>}
   */
  async since(answer) {
    const came = /** @type {T[]} */ ([]);
    this.open.add(came);
    try {
      return [await answer, came];
    } finally {
      this.open.delete(came);
    }
  }
}
