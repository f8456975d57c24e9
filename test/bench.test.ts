import { assert, describe, it } from "@effect/vitest"
import { parts } from "./bench/parts.ts"
import { compare, type Comparison, type Contender, race } from "./bench/race.ts"

const options = { rounds: 3, sampleMs: 1, warmUpMs: 5 }

const spins = (name: string, times: number, units?: number): Contender => ({
  name,
  units,
  run: (n) => {
    let sum = 0
    for (let i = 0; i < n * times; i++) sum += i
    if (!Number.isFinite(sum)) throw new Error("too far")
  }
})

const comparison: Comparison = { id: "spin.vs-other", ours: "a", theirs: "b", unit: "ns/call", floor: null }

describe("bench", () => {
  it("a race gives every contender a sample a round, and a row to every comparison", async () => {
    const samples = await race([spins("a", 100), spins("b", 200, 10)], options)
    assert.deepStrictEqual([...samples.keys()], ["a", "b"])
    for (const times of samples.values()) assert.strictEqual(times.length, options.rounds)

    const floored: Comparison = { ...comparison, id: "spin.amount", unit: "ms", floor: 2, goal: 1, lowerIsBetter: true }
    const rows = compare(samples, [comparison, floored]).map(({ row }) => row)
    assert.deepStrictEqual(
      rows.map(({ ours, ratio, theirs, ...row }) => [row, [ours, ratio, theirs].every((figure) => figure > 0)]),
      [
        [
          {
            id: "spin.vs-other",
            what: "a",
            unit: "ns/call",
            against: "b",
            floor: null,
            goal: null,
            lowerIsBetter: false
          },
          true
        ],
        [{ id: "spin.amount", what: "a", unit: "ms", against: "b", floor: 2, goal: 1, lowerIsBetter: true }, true]
      ]
    )
  })

  it("ratios are taken inside a round, so that a slow phase that hits both sides leaves them alone", () => {
    const samples = new Map([
      ["a", [10, 100, 30]],
      ["b", [20, 200, 90]],
      ["empty", [5, 50, 10]]
    ])
    const figures = (change: Partial<Comparison>) => {
      const { ours, ratio, theirs } = compare(samples, [{ ...comparison, ...change }])[0]!.row
      return { ours, theirs, ratio }
    }
    assert.deepStrictEqual(figures({}), { ours: 30, theirs: 90, ratio: 2 })
    assert.deepStrictEqual(figures({ lowerIsBetter: true }), { ours: 30, theirs: 90, ratio: 0.5 })
    assert.deepStrictEqual(figures({ over: "empty" }), { ours: 20, theirs: 80, ratio: 3 })
  })

  it("a contender whose outcome is wrong ends the race", async () => {
    const wrong: Contender = { name: "a", run: () => Promise.reject(new Error("wrong")) }
    const ended = await race([wrong], options).catch((error: Error) => error.message)
    assert.strictEqual(ended, "wrong")
  })

  it("ids are what they were: they name figures of earlier releases", () => {
    const ids = Object.values(parts).flatMap(({ comparisons }) => comparisons.map(({ id }) => id))
    assert.deepStrictEqual(ids, [
      "call.trivial.vs-zod-generator",
      "call.trivial.vs-toolkit",
      "call.events.vs-toolkit",
      "call.typed.vs-toolkit",
      "call.guarded.vs-toolkit",
      "call.trivial.vs-ai-sdk",
      "call.10k-at-once.vs-promises",
      "grep.200mb.vs-rg",
      "grep.200mb.rss-growth",
      "read_file.line-1m.vs-sed",
      "apply_patch.500.vs-loop",
      "apply_patch.500.vs-git",
      "journal.read-only.64.vs-off",
      "journal.writes.vs-two-syncs",
      "journal.writes.64.vs-two-syncs",
      "journal.open.1m.vs-read",
      "journal.open.1m.rss",
      "mcp.call.vs-bare-handler",
      "mcp.call.vs-sdk",
      "monitor.lines.vs-split",
      "process.bash-1gib.vs-data",
      "process.bash-1gib.growth",
      "process.spawn-true.vs-raw",
      "process.spawn-true-namespace.vs-raw",
      "process.spawn-true-sandbox.vs-raw",
      "process.latency.vs-raw",
      "process.latency-p99.vs-raw",
      "progress.chunked.vs-zod-generator",
      "progress.single.vs-zod-generator",
      "progress.chunked.vs-toolkit",
      "progress.single.vs-toolkit",
      "progress.chunked.vs-generator",
      "progress.single.vs-generator",
      "progress.chunked.vs-ai-sdk",
      "start.core",
      "start.core.vs-toolkit",
      "start.call-read-file",
      "start.call-bash",
      "turn.10-calls.vs-effect-ai",
      "turn.same-model.vs-effect-ai"
    ])
  })
})
