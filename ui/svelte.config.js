import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

// Runes everywhere; styles always go to files, because the content security policy allows no <style> made by script.
export default {
  preprocess: vitePreprocess(),
  compilerOptions: { runes: true, css: "external" },
};
