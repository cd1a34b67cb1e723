// Pictures of the main states, light and dark, into the folder MEWORK_SHOTS. For people to look at: `make shots`.

import { join } from "node:path";
import { launch, open } from "./app.js";
import { states, withState } from "./states.js";

const only = process.argv.slice(2);
const browser = await launch();
for (const name of Object.keys(states).filter((n) => only.length === 0 || only.includes(n))) {
  await withState(name, async (app, go) => {
    const { tab, context } = await open(browser, app.url, { colorScheme: "light" });
    await go(tab);
    for (const colorScheme of ["light", "dark"]) {
      await tab.emulateMedia({ colorScheme });
      await tab.screenshot({ path: join(process.env.MEWORK_SHOTS, `${name}-${colorScheme}.png`) });
    }
    await context.close();
  });
}
await browser.close();
