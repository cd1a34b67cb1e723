// Arrow keys in lists whose every row has the same controls: up and down go to the same control of the next row.

import type { Attachment } from "svelte/attachments";

/** `kinds`: selectors of the controls; the first that fits the focused one decides the column. */
export function arrows(kinds: readonly string[]): Attachment<HTMLElement> {
  return (list) => {
    const key = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLElement)) return;
      const target = event.target;
      const kind = kinds.find((k) => target.matches(k));
      if (!kind) return;
      const column = [...list.querySelectorAll<HTMLElement>(kind)].filter((e) => !e.matches(":disabled"));
      const at = column.indexOf(target);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: column.length - 1 }[event.key];
      const next = to === undefined ? undefined : column[to];
      if (to === undefined) return;
      event.preventDefault();
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    };
    list.addEventListener("keydown", key);
    return () => list.removeEventListener("keydown", key);
  };
}
