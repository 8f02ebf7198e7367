// build.mjs - bundle the dashboard: node build.mjs [FOLDER]
//
// Writes app.js, app.css, index.html and icon.svg into FOLDER, dist/ unless told otherwise.
// The same sources and package-lock.json give the same bytes; tests/browser compares them.
import { build } from "esbuild";
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "dist"));

mkdirSync(folder, { recursive: true });
await build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.jsx" },
    outdir: folder,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2020",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    banner: {
        js: "/* Corgi's dashboard, MIT licence. With Preact (c) Jason Miller and uPlot (c) Leon Sorokin, both MIT. */",
    },
    logLevel: "warning",
});
for (const file of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", file), join(folder, file));
