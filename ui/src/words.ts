// Every word of the window (B49). A translation is another object of this shape.

export const words = {
  app: "Mework",
  link: {
    connecting: "Connecting…",
    lost: "The connection was lost. Trying again…",
    unreachable: "Mework cannot be reached. Is it still running?",
    denied: "This page is not signed in. Open the address that `mework serve` printed.",
    odd: "Mework answered in a way this page does not understand. Reload it; the two may be of different versions.",
  },
};
