// The keyboard is never lost. When what has it goes away or can be used no more, and nobody who did that gave the keyboard a
// better place, the nearest control takes over: the next one, else the one before, in the smallest part of the page that has
// one.

const controls = 'button, a[href], input, select, textarea, summary, [tabindex="0"]';
const takes = (e: Element): e is HTMLElement => e instanceof HTMLElement && !e.matches(":disabled, [tabindex='-1'], [inert] *") && e.checkVisibility({ visibilityProperty: true });

/** Nothing in particular has the keyboard. */
export const idle = (): boolean => document.activeElement === document.body || document.activeElement === document.getElementById("page");

/** What the watch below gave the keyboard to, as long as it stays there. */
let given: Element | null = null;
/** Nobody chose where the keyboard is. */
export const unchosen = (): boolean => idle() || (given !== null && document.activeElement === given);

/**
 * What asks a person (`data-asks`) is answered by those who went to its buttons on purpose: the keyboard comes to the whole
 * of it instead. Who is in it already stays in it, but is not led to a button that answers (`data-answers`).
 */
function onPurpose(control: HTMLElement, from: Node): HTMLElement {
  const asks = control.closest<HTMLElement>("[data-asks]");
  return asks && (!asks.contains(from) || control.closest("[data-answers]")) ? asks : control;
}

/** Remembers what has the keyboard; the answer gives it back, if it is there still and nothing else took it. */
export function returning(element: () => HTMLElement | undefined): () => void {
  const before = document.activeElement;
  return () => {
    const now = document.activeElement;
    if (before instanceof HTMLElement && before.isConnected && (idle() || (now !== null && element()?.contains(now)))) before.focus();
  };
}

/** The control next to where something was: `parent` lost it just before `next`. */
export function neighbour(parent: Node, next: Node | null): HTMLElement | null {
  for (let scope: Element | null = parent instanceof Element ? parent : parent.parentElement; scope; scope = scope.parentElement) {
    const all = [...scope.querySelectorAll(controls)].filter(takes);
    const isAfter = (e: Element) => {
      // Where the part that lost it is not the scope itself, what follows that part follows what was lost.
      const mark = next?.isConnected ? next : null;
      if (mark) return e === mark || mark.contains(e) || (mark.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
      return scope !== parent && !parent.contains(e) && (parent.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    };
    const found = all.find(isAfter) ?? all.at(-1);
    if (found) return onPurpose(found, parent);
    if (scope.matches("main, nav, dialog")) return scope.querySelector<HTMLElement>("[tabindex]") ?? (scope instanceof HTMLElement ? scope : null);
  }
  return null;
}

/** Watches a page; the answer ends it. */
export function keepKeyboard(root: HTMLElement): () => void {
  let last: Element | null = null;
  const came = (event: FocusEvent) => {
    last = event.target instanceof Element ? event.target : null;
    if (last !== given) given = null;
  };
  const watch = new MutationObserver((records) => {
    const gone = last;
    if (!gone) return;
    // A browser may leave the keyboard on what can be used no more, until it draws next.
    const lost = () => document.activeElement === document.body || (document.activeElement === gone && gone.matches(":disabled"));
    if (!lost()) return;
    // A list that is put in another order takes its rows out and in again; the keyboard stays on the one it was on.
    if (gone.isConnected && gone instanceof HTMLElement && records.some((r) => [...r.removedNodes].some((node) => node.contains(gone)))) {
      gone.focus({ preventScroll: true });
      return;
    }
    const record = records.find((r) => (r.type === "attributes" ? r.target === gone && gone.matches(":disabled") : !gone.isConnected && [...r.removedNodes].some((node) => node.contains(gone))));
    if (!record) return;
    last = null;
    const target = record.type === "attributes" ? gone.parentNode! : record.target;
    const { nextSibling } = record.type === "attributes" ? gone : record;
    setTimeout(() => {
      if (!lost()) return;
      const place = target.isConnected ? neighbour(target, nextSibling) : document.getElementById("page");
      given = place;
      place?.focus({ preventScroll: place.id === "page" });
    }, 0);
  });
  root.addEventListener("focusin", came);
  watch.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    root.removeEventListener("focusin", came);
    watch.disconnect();
  };
}
