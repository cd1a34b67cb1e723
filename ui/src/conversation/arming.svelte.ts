// Buttons that must not be pressed by accident rest for 400 ms after they show, after they moved, and after the window
// came back to the front (ui.md, rule 5).

export const armsAfter = 400;

/** `now` turns true when the rest is over; call it while a component is made. */
export function arming(moved: () => unknown = () => null): { readonly now: boolean } {
  let armed = $state(false);
  $effect(() => {
    moved();
    let timer = 0;
    const rest = () => {
      armed = false;
      clearTimeout(timer);
      timer = window.setTimeout(() => (armed = true), armsAfter);
    };
    rest();
    window.addEventListener("focus", rest);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("focus", rest);
    };
  });
  return {
    get now() {
      return armed;
    },
  };
}
