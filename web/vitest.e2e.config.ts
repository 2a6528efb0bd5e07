import { defineConfig } from "vitest/config";

// The console against the real server in headless Chromium. SF_BINARY names the server; the
// task test:e2e builds it.
export default defineConfig({
  test: {
    environment: "node",
    include: ["test/e2e/**/*.e2e.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
