import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import { breaches, type Known } from "./crash/report.ts"
import * as PostgresServer from "./PostgresServer.ts"

/** What the run prints. */
const crash = (on: string) => {
  const main = path.join(import.meta.dirname, "crash/main.ts")
  const { stderr, stdout } = spawnSync(process.execPath, [main, "--on", on, "--rounds", "6"], {
    encoding: "utf8",
    timeout: 170_000
  })
  return `${stdout}${stderr}`
}

const well = /every accepted call has its one terminal/

describe("crash", () => {
  it.skipIf(process.platform !== "linux")(
    "processes that are killed leave one terminal for each call, in files",
    { timeout: 180_000 },
    () => assert.match(crash("file"), well)
  )

  it.skipIf(PostgresServer.absent)(
    "processes that are killed leave one terminal for each call, in Postgres (with Debian's package postgresql)",
    { timeout: 180_000 },
    () => assert.match(crash("postgres"), well)
  )

  describe("whatever breaks the law is told", () => {
    const told = (result: object) => JSON.stringify({ result })
    const success = told({ _tag: "Success" })
    const failure = (reason: object) => told({ _tag: "Failure", error: { reason } })
    const lost = failure({ _tag: "Lost" })
    const notStarted = failure({ _tag: "Interrupted", phase: "not-started" })
    const well: Known = { callId: "1", tool: "append", seen: success, kept: [success], begun: 1, effects: 1 }

    it.each([
      ["it is well", {}, 0],
      ["it is well: killed before its start", { seen: undefined, kept: [notStarted], begun: 0, effects: 0 }, 0],
      ["it is well: killed while it ran", { seen: undefined, kept: [lost] }, 0],
      ["it is well: killed before it was accepted", { seen: undefined, kept: undefined, begun: 0, effects: 0 }, 0],
      ["it is well: what may be done twice", { tool: "put", begun: 3, effects: 2 }, 0],
      [
        "it is well: what could be made again was not started",
        { tool: "put", kept: [lost], seen: undefined, begun: 0, effects: 0 },
        0
      ],
      ["no terminal", { seen: undefined, kept: [] }, 1],
      ["two terminals", { kept: [success, success] }, 1],
      ["another terminal than its reader was told", { seen: lost }, 1],
      ["a terminal that its reader was told is gone", { kept: undefined, begun: 0, effects: 0 }, 1],
      ["it ran without being accepted", { seen: undefined, kept: undefined }, 1],
      ["it ran twice", { effects: 2 }, 1],
      ["it was started twice", { begun: 2 }, 1],
      ["it succeeded without running", { effects: 0 }, 1],
      ["it was started, and is told as not started", { seen: undefined, kept: [notStarted], effects: 0 }, 1],
      ["what could have been made again is lost", { tool: "put", seen: undefined, kept: [lost] }, 1]
    ] satisfies ReadonlyArray<readonly [string, Partial<Known>, number]>)("%s", (_, change, count) => {
      assert.lengthOf(breaches({ ...well, ...change }), count)
    })
  })
})
