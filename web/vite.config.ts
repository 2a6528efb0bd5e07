import { writeFileSync } from "node:fs";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// The server embeds dist; the placeholder keeps `go build` working on a fresh clone, and a
// build empties the folder first.
function keepPlaceholder(): Plugin {
  return {
    name: "keep-placeholder",
    closeBundle() {
      writeFileSync("dist/.gitkeep", "");
    },
  };
}

const server = process.env.SF_URL ?? "http://127.0.0.1:5199";

export default defineConfig({
  plugins: [react(), tailwindcss(), keepPlaceholder()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: { target: "es2023", sourcemap: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
  server: {
    port: 5173,
    strictPort: true,
    proxy: Object.fromEntries(["/api", "/healthz", "/readyz", "/metrics", "/openapi", "/scalar"].map((path) => [path, server])),
  },
});
