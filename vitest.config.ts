/**
 * How the tests run. `TEST_REPORT=FILE` also writes what ran and how it ended to FILE, as JSON.
 */
import { defineConfig } from "vitest/config"

const report = process.env["TEST_REPORT"]

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/fixtures/**", "test/bench/**", "test/mutants/**", "test/types/**"],
    // Tests that start processes take a second or two beside others; what waits for 10 s waits for ever.
    testTimeout: 10_000,
    hookTimeout: 10_000,
    teardownTimeout: 10_000,
    // A process per file: the tests start children, change limits and read process-wide state, which threads share.
    pool: "forks",
    // Two at a time, whatever the machine: clocks in tests are honest only when the processors are not oversubscribed.
    maxWorkers: 2,
    // A pattern that matches no test is a mistake.
    passWithNoTests: false,
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]]
  }
})
