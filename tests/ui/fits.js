// What a picky eye looks for, measured: nothing is cut off, nothing lies on something else, nothing scrolls sideways.

/** Runs in the page. What does not fit, short enough to read. */
export function misfits() {
  const found = new Set();
  const name = (e) => {
    const said = (e.getAttribute("aria-label") ?? e.innerText ?? e.value ?? "").trim().replace(/\s+/g, " ").slice(0, 50);
    const classes = (e.getAttribute("class") ?? "").split(/\s+/).filter((c) => c !== "" && !c.startsWith("svelte-"));
    return `${[e.tagName.toLowerCase(), ...classes].join(".")} "${said}"`;
  };
  const px = Math.round;
  const root = document.querySelector("dialog[open]") ?? document.body;
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !e.closest(".sr, .skip") && !isOnlyHeard(e);
  /** What is there for screen readers alone is one pixel wide. */
  function isOnlyHeard(e) {
    for (let p = e; p && p !== document.body; p = p.parentElement) if (getComputedStyle(p).clipPath !== "none") return true;
    return false;
  }
  /** Code and what is as wide as it is scrolls in its own box. */
  const mayScroll = (e) => e.closest("pre, .editor, .tree, .strip, .json, .rows");
  /** The part of an element that can be seen now. */
  function sight(e) {
    const box = e.getBoundingClientRect();
    const part = { left: box.left, right: box.right, top: box.top, bottom: box.bottom };
    for (let p = e.parentElement; p; p = p.parentElement) {
      const { overflowX, overflowY, position } = getComputedStyle(p);
      const clip = p.getBoundingClientRect();
      if (overflowX !== "visible") Object.assign(part, { left: Math.max(part.left, clip.left), right: Math.min(part.right, clip.right) });
      if (overflowY !== "visible") Object.assign(part, { top: Math.max(part.top, clip.top), bottom: Math.min(part.bottom, clip.bottom) });
      if (position === "fixed") break;
    }
    return { left: Math.max(0, part.left), right: Math.min(innerWidth, part.right), top: Math.max(0, part.top), bottom: Math.min(innerHeight, part.bottom) };
  }
  const isOn = (e) => [...(function* () { for (let p = e; p; p = p.parentElement) yield p; })()].some((p) => ["sticky", "fixed", "absolute"].includes(getComputedStyle(p).position) && p !== document.body);

  const all = [...root.querySelectorAll("*")].filter((e) => e instanceof HTMLElement && shown(e));
  for (const e of all) {
    const style = getComputedStyle(e);
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const beyond = e.scrollWidth - e.clientWidth;
    const ends = style.textOverflow === "ellipsis";
    if (e.clientWidth > 0 && beyond > 1 && !e.matches("input, textarea, select") && !mayScroll(e) && !e.querySelector(".editor, pre, .strip")) {
      if (["hidden", "clip"].includes(style.overflowX) && !ends) found.add(`hides ${beyond} px: ${name(e)}`);
      if (["auto", "scroll"].includes(style.overflowX)) found.add(`scrolls sideways by ${beyond} px: ${name(e)}`);
    }
    if (e.matches("input, textarea") && e.placeholder && e.value === "") {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = style.font;
      const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const wide = Math.max(...e.placeholder.split("\n").map((line) => pen.measureText(line).width));
      if (e.tagName === "INPUT" && wide > room + 1) found.add(`its placeholder is cut off by ${px(wide - room)} px: ${name(e)} “${e.placeholder}”`);
    }
    if (!e.matches("button, input, textarea, select, a[href], summary, kbd, .chip") || mayScroll(e)) continue;
    // A control sticks out of nothing that holds it, further than it was placed outside of it on purpose.
    const placed = [parseFloat(style.marginLeft), parseFloat(style.marginRight)].map((margin) => Math.max(0, -margin) + 1.5);
    for (let p = e.parentElement; p && p !== root; p = p.parentElement) {
      const holder = p.getBoundingClientRect();
      if (getComputedStyle(p).display === "contents" || holder.width === 0) continue;
      if (box.left < holder.left - placed[0] || box.right > holder.right + placed[1]) {
        found.add(`sticks out (${px(box.left)} to ${px(box.right)} of ${px(holder.left)} to ${px(holder.right)}): ${name(e)} in ${name(p).slice(0, 60)}`);
        break;
      }
      if (["fixed", "absolute"].includes(getComputedStyle(e).position)) break;
    }
    // And can be pressed at both its ends, where it is in sight.
    const part = sight(e);
    if (e.matches("kbd, .chip, :disabled") || part.right - part.left < 8 || part.bottom - part.top < box.height - 1 || style.pointerEvents === "none" || style.opacity === "0") continue;
    for (const x of [box.left + 5, box.right - 5]) {
      const hit = document.elementFromPoint(x, (box.top + box.bottom) / 2);
      if (hit === null) found.add(`out of the window: ${name(e)}`);
      else if (hit !== e && !e.contains(hit) && !hit.contains(e) && hit.closest("label")?.control !== e && !(isOn(hit) && !isOn(e))) found.add(`covered: ${name(e)} by ${name(hit)}`);
    }
  }
  // What is typed in an editor is seen in another element that must lie exactly under it.
  for (const area of root.querySelectorAll(".editor textarea")) {
    const [typed, seen] = [area, area.parentElement.querySelector("pre")].map((e) => e.getBoundingClientRect());
    if (shown(area) && Math.abs(typed.top - area.scrollTop - seen.top) > 1) found.add(`the text is ${px(typed.top - area.scrollTop - seen.top)} px from its caret: ${name(area)}`);
  }
  return [...found];
}
