// How components reach the state: by Svelte's context, so that tests and the dev page bring their own.

import { getContext, setContext } from "svelte";
import { Actions } from "./actions";
import type { App } from "./app.svelte";
import { Notify } from "./notify.svelte";
import type { View } from "./view.svelte";

const key = Symbol("mework");
export type Mework = { app: App; view: View; act: Actions; notify: Notify };

export function provide(app: App, view: View): Mework {
  const act = new Actions(app, view);
  const notify = new Notify((call) => void act.goToCall(call.conversation, call.entry));
  return setContext(key, { app, view, act, notify });
}

export const mework = (): Mework => getContext<Mework>(key);
