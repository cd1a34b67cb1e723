import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  base: "./",
  clearScreen: false,
  server: { port: 1420, strictPort: true },
  build: {
    target: ["safari17", "chrome120"],
    modulePreload: false,
    // Inlined assets would be data: URLs, which the policy allows for images only.
    assetsInlineLimit: 0,
  },
  // Svelte's browser build, or mount() is refused in tests.
  resolve: mode === "test" ? { conditions: ["browser"] } : {},
  test: { include: ["src/**/*.test.ts"], environment: "node", testTimeout: 30_000 },
}));
