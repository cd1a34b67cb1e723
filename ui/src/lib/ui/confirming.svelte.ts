// A question asked in place, once: the first press asks it, a second one within a few seconds answers.

/** The second click of a double click is not an answer. */
const atOnce = 250;

export class Confirming<What extends string> {
  /** What is being asked. */
  what = $state.raw<What | null>(null);
  #at = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `patience`: how long a question stands, in milliseconds. */
  constructor(readonly patience = 6000) {}

  /** True when this was asked before, and is confirmed by this press. */
  press(what: What): boolean {
    if (this.what === what && Date.now() - this.#at > atOnce) {
      this.forget();
      return true;
    }
    if (this.what !== what) {
      this.forget();
      this.what = what;
      this.#at = Date.now();
      this.#timer = setTimeout(() => this.forget(), this.patience);
    }
    return false;
  }
  forget(): void {
    clearTimeout(this.#timer);
    this.what = null;
  }
}
