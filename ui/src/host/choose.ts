// Which host this page has: the window's own, or the server it was loaded from.

import type { Host } from "./host";
import { inWindow, tauriHost } from "./tauri";
import { webHost } from "./web";

export const chooseHost = (): Host => (inWindow() ? tauriHost() : webHost());
