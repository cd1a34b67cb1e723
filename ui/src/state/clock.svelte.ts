// The time, as something that can be watched. Ticks only while something on screen reads it.

import { createSubscriber } from "svelte/reactivity";

const every = (ms: number) => {
  const subscribe = createSubscriber((update) => {
    const timer = setInterval(update, ms);
    return () => clearInterval(timer);
  });
  return () => {
    subscribe();
    return Date.now();
  };
};

/** To the minute. */
export const now = every(30_000);
/** For what runs right now. */
export const nowFine = every(100);
