import { readFileSync } from "node:fs";
import { type Plugin, version } from "vite";
import { defineConfig } from "vitest/config";

const NOTICES = "THIRD_PARTY_NOTICES.md";

/** Adds Vite's licence to the notices: its preload helper is in the bundle, and build.license skips virtual modules. */
const viteNotice: Plugin = {
  name: "vite-notice",
  generateBundle: {
    order: "post",
    handler(_options, bundle) {
      const notices = bundle[NOTICES];
      if (notices?.type !== "asset") throw new Error(`build.license wrote no ${NOTICES}`);
      const [, text] = readFileSync("node_modules/vite/LICENSE.md", "utf-8").split(/^# .*$/m);
      notices.source += `\n## vite - ${version} (MIT)\n\n${text?.trim()}\n`;
    },
  },
};

/** In `make dev` (tools/dev.py), TensorBoard's pages with the plugin's sources in place of its bundle. */
const devEntry: Plugin = {
  name: "dev-entry",
  apply: "serve",
  configureServer(server) {
    server.middlewares.use("/data/plugin/npu_profiler/static/index.js", (_request, response) => {
      response.setHeader("Content-Type", "text/javascript");
      response.end('import "/@vite/client"; export { render } from "/src/index.tsx";');
    });
  },
};

/** Name of a chunk that is loaded on demand: the folder for views (src/views/kernel/index.ts → kernel), else the file. */
function chunkName(moduleId: string | null, fallback: string): string {
  const view = moduleId?.match(/\/views\/([^/]+)\/index\.tsx?$/);
  return view?.[1] ?? fallback;
}

// App mode with one entry that exports `render`, and what the views import from it: library mode would not minify.
// TensorBoard imports index.js from a page of its own, so all URLs are relative and nothing is preloaded. File names carry
// no hash: the bundle is
// committed, and a rebuild of the same sources must give the same files.
export default defineConfig({
  base: "./",
  plugins: [viteNotice, devEntry],
  server: { proxy: { "^/(?!@|src/|node_modules/)": "http://127.0.0.1:6007" } },
  build: {
    outDir: "../tb_npu_plugin/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    // The licences of what is bundled; setup.py ships them.
    license: { fileName: NOTICES },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      input: "src/index.tsx",
      preserveEntrySignatures: "allow-extension",
      output: {
        format: "es",
        entryFileNames: "index.js",
        chunkFileNames: (chunk) => `${chunkName(chunk.facadeModuleId, chunk.name)}.js`,
        // What several views share is in the entry, index.js: the page loads one file before that of its view.
        codeSplitting: {
          groups: [
            {
              name: "core",
              test: /node_modules|messages\.json|src\/(?!views\/|timeline\/)|views\/[^/]+\/terms\w*\.ts/,
            },
          ],
        },
        assetFileNames: "[name][extname]",
      },
    },
  },
  worker: { format: "es", rolldownOptions: { output: { entryFileNames: "[name].js" } } },
  // The tests share one page per worker: making a page costs more than most of them.
  test: {
    testTimeout: 60_000, // in ms: how long a test takes says how busy the machine is
    hookTimeout: 60_000,
    environment: "happy-dom",
    pool: "threads",
    isolate: false,
    include: ["tests/**/*.test.{ts,tsx}", "src/**/*.test.{ts,tsx}"],
  },
});
