// Tooltips: one layer for the whole window, opened by hover and by keyboard focus, closed by Escape.
// The layer stays while the pointer is on it, so that what it says can be selected and copied.

import type { Snippet } from "svelte";
import type { Attachment } from "svelte/attachments";

export type TipContent = string | Snippet | null | undefined;
type Options = { /** Only when the anchor's text does not fit. */ whenCut?: boolean; side?: "top" | "bottom" };

class TipState {
  anchor = $state.raw<HTMLElement | null>(null);
  content = $state.raw<TipContent>(null);
  side: "top" | "bottom" = "top";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closedAt = 0;

  open(anchor: HTMLElement, content: () => TipContent, options: Options, soon: boolean) {
    clearTimeout(this.#timer);
    const wait = soon || this.anchor || Date.now() - this.#closedAt < 300 ? (soon ? 0 : 60) : 380;
    const show = () => {
      if (!anchor.isConnected) return;
      if (options.whenCut && anchor.scrollWidth <= anchor.clientWidth && anchor.scrollHeight <= anchor.clientHeight) return;
      const now = content();
      if (!now) return;
      this.side = options.side ?? "top";
      this.content = now;
      this.anchor = anchor;
    };
    if (wait === 0) show();
    else this.#timer = setTimeout(show, wait);
  }
  leave() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close(), 140);
  }
  stay() {
    clearTimeout(this.#timer);
  }
  close() {
    clearTimeout(this.#timer);
    if (this.anchor) this.#closedAt = Date.now();
    this.anchor = null;
    this.content = null;
  }
}

export const tipState = new TipState();
export const tipId = "tip";

/** `{@attach tip(() => "what it does")}` */
export function tip(content: () => TipContent, options: Options = {}): Attachment<HTMLElement> {
  return (element) => {
    const enter = (event: PointerEvent) => {
      if (event.pointerType !== "touch") tipState.open(element, content, options, false);
    };
    const leave = () => tipState.leave();
    const focus = () => {
      if (element.matches(":focus-visible")) tipState.open(element, content, options, true);
    };
    // Not at once: the browser tells of it while Svelte is taking the element away, when no state may change.
    const blur = () => queueMicrotask(() => tipState.anchor === element && tipState.close());
    const press = () => tipState.close();
    element.addEventListener("pointerenter", enter);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("pointerdown", press);
    // The keyboard presses too, and what it opens must not lie under the tip.
    element.addEventListener("click", press);
    element.addEventListener("focusin", focus);
    element.addEventListener("focusout", blur);
    return () => {
      element.removeEventListener("pointerenter", enter);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("pointerdown", press);
      element.removeEventListener("click", press);
      element.removeEventListener("focusin", focus);
      element.removeEventListener("focusout", blur);
      blur();
    };
  };
}
