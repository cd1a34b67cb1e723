// Calls that wait need the room: the composer is one line then, unless someone writes in it. Sending is the end of writing;
// what is typed after it opens the composer again and loses no key.

const modifiers = ["Control", "Meta", "Shift", "Alt"];

export class Folding {
  /** Someone writes in it. */
  using = $state(false);
  /** What was written was sent. */
  sent = $state(false);
  readonly now: boolean = $derived.by(() => this.room() && (!this.using || this.sent));
  /** A pointer is down. */
  pressed = false;

  /** `room`: it may be one line. `section`: what is the composer's own. */
  constructor(
    readonly room: () => boolean,
    readonly section: () => HTMLElement | undefined,
  ) {}

  /** Someone begins to write. */
  open(): void {
    this.using = true;
    this.sent = false;
  }
  /** The keyboard came into it. */
  came(): void {
    if (!this.now) this.using = true;
  }
  key(event: KeyboardEvent): void {
    if (!modifiers.includes(event.key)) this.sent = false;
  }
  left(event: FocusEvent): void {
    if (event.relatedTarget instanceof Node && this.section()?.contains(event.relatedTarget)) return;
    // The window lost the keyboard, not the composer.
    if (!document.hasFocus()) return;
    // Later: the composer itself moves the keyboard when it changes its shape. And a press on a card's button must end
    // where it began, so nothing moves under it.
    const away = () =>
      setTimeout(() => {
        if (!this.section()?.contains(document.activeElement)) this.using = false;
      }, 0);
    if (this.pressed) addEventListener("pointerup", away, { once: true });
    else away();
  }
}
