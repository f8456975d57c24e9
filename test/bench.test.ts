import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { type Curve, growthOf, type Line } from "./bench/curves/Curve.ts"
import { toSvg } from "./bench/curves/Svg.ts"
import { type Results, toMarkdown } from "./bench/document.ts"
import { parts } from "./bench/parts.ts"
import { profile, toText } from "./bench/profile.ts"
import { byTask, comparisons as comparisonsOfPeers } from "./bench/peers/peers.ts"
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

/** A generator is compiled into nobody else's code, whose time its own would be. */
function* spin(times: number) {
  let sum = 0
  for (let i = 0; i < times; i++) sum += i
  yield sum
}

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

  it("a profile tells the CPU time of a call by where the code lives that spends it", async () => {
    const places = [["the test", /bench\.test\.ts/]] as const
    const works: Contender = { name: "works", run: (n) => spin(n * 10_000).next().value }
    const waits: Contender = { name: "waits", run: () => new Promise((resolve) => setTimeout(resolve, 5)) }
    const { contenders } = await profile("Where it goes", [works, waits], places, {
      slices: 2,
      sliceMs: 100
    })
    const [spent, waited] = contenders.map(({ us }) => us)
    const all = Object.values(spent!).reduce((a, b) => a + b, 0)
    assert.isAbove(spent!["the test"]! / all, 0.5)
    // Time in which nothing runs is nobody's.
    assert.isBelow(
      Object.values(waited!).reduce((a, b) => a + b, 0),
      all
    )
  })

  it("a profile is shown with what takes most first, and the share of each", () => {
    const shown = toText({
      title: "Where it goes",
      contenders: [
        { name: "ours", us: { a: 1, b: 3 } },
        { name: "theirs", us: { a: 2 } }
      ]
    })
    assert.deepStrictEqual(
      shown.split("\n").map((line) => line.trim().split(/\s{2,}/)),
      [
        ["Where it goes"],
        ["where", "ours", "share", "theirs", "share"],
        ["b", "3.00 µs", "75 %"],
        ["a", "1.00 µs", "25 %", "2.00 µs", "100 %"],
        ["all of it", "4.00 µs", "100 %", "2.00 µs", "100 %"]
      ]
    )
  })

  it("ids are what they were: they name figures of earlier releases", async () => {
    const loaded = await Promise.all(Object.values(parts).map(({ load }) => load()))
    const ids = loaded.flatMap(({ comparisons }) => comparisons.map(({ id }) => id))
    assert.deepStrictEqual(ids, [
      "call.trivial.vs-zod-generator",
      "call.trivial.vs-toolkit",
      "call.events.vs-toolkit",
      "call.typed.vs-toolkit",
      "call.guarded.vs-toolkit",
      "call.trivial.vs-ai-sdk",
      "call.10k-at-once.vs-promises",
      "call.10k-readers.vs-promises",
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
      "mcp.call-2026-07-28.vs-bare-handler",
      "mcp.call.vs-sdk",
      "memory.call.vs-promise",
      "memory.tool.vs-toolkit",
      "memory.session",
      "memory.million-calls",
      "monitor.lines.vs-split",
      "peers.call.effect-ai",
      "peers.call.effect-ai.over-raw",
      "peers.call.ai-sdk",
      "peers.call.ai-sdk.over-raw",
      "peers.call.openai-agents",
      "peers.call.openai-agents.over-raw",
      "peers.call.mastra",
      "peers.call.mastra.over-raw",
      "peers.call.langchain",
      "peers.call.langchain.over-raw",
      "peers.call.mcp-sdk",
      "peers.call.mcp-sdk.over-raw",
      "peers.start.execa",
      "peers.start.execa.over-raw",
      "peers.start.effect-process",
      "peers.start.effect-process.over-raw",
      "peers.1gib.execa",
      "peers.1gib.execa.over-raw",
      "peers.1gib.effect-process",
      "peers.1gib.effect-process.over-raw",
      "process.bash-1gib.vs-data",
      "process.bash-1gib.growth",
      "process.spawn-true.vs-raw",
      "process.spawn-true-namespace.vs-raw",
      "process.spawn-true-sandbox.vs-raw",
      "process.latency.vs-raw",
      "process.latency-p99.vs-raw",
      "process.latency-pulled.vs-raw",
      "progress.chunked.vs-zod-generator",
      "progress.single.vs-zod-generator",
      "progress.chunked.vs-toolkit",
      "progress.single.vs-toolkit",
      "progress.chunked.vs-generator",
      "progress.single.vs-generator",
      "progress.pulled.vs-generator",
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

const lineOf = (cost: Line["cost"], of: (n: number) => number): Line => ({
  name: "it",
  cost,
  points: [1, 10, 100, 1000, 10_000, 100_000].map((n) => [n, of(n)])
})

const curve: Curve = {
  id: "spins",
  title: 'Spins & "turns" < 2',
  x: { label: "spins at once", unit: "count" },
  y: { label: "time of each", unit: "ns" },
  lines: [
    { ...lineOf("each", (n) => 1000 + n / 1000), name: "a spin" },
    { ...lineOf("whole", (n) => 10 * n ** 2), name: "all spins" }
  ]
}

describe("curves", () => {
  it("growth is told from the costs of one and from those of all", () => {
    const exponents = [
      lineOf("each", () => 7),
      lineOf("whole", (n) => 7 * n),
      lineOf("each", (n) => 7 * Math.sqrt(n)),
      lineOf("whole", (n) => 7 * n ** 2)
    ].map((line) => Number(growthOf(line).exponent.toFixed(6)))
    assert.deepStrictEqual(exponents, [1, 1, 1.5, 2])
  })

  it("n log n is not worse than n log n, and what is a little more is", () => {
    const { bar, exponent, isWorse } = growthOf(lineOf("each", (n) => 3 * Math.log(n)))
    assert.deepStrictEqual([exponent.toFixed(9), isWorse], [bar.toFixed(9), false])
    assert.isAbove(bar, 1)
    assert.isTrue(growthOf(lineOf("each", (n) => Math.log(n) * n ** 0.1)).isWorse)
  })

  it("what a few cost hides no growth: only the last two decades are fitted", () => {
    assert.isTrue(growthOf(lineOf("whole", (n) => 1e6 + n ** 2)).isWorse)
  })

  it("a picture is well-formed, with every point where it can be seen", () => {
    const svg = toSvg(curve)
    const open: Array<string> = []
    const rest = svg.replaceAll(
      /<(\/?)([a-z]+)((?: [a-z-]+="[^"<>]*")*)\s*(\/?)>/gi,
      (_, end, name, _attributes, empty) => {
        if (end === "/") assert.strictEqual(open.pop(), name)
        else if (empty === "") open.push(name)
        return ""
      }
    )
    assert.deepStrictEqual(open, [])
    assert.notMatch(rest, /[<>]|&(?!(amp|lt|gt|quot);)/)
    assert.include(rest, "Spins &amp; &quot;turns&quot; &lt; 2")
    assert.notMatch(svg, /NaN|Infinity|undefined/)
    const places = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" r="3"/g)].map(([, x, y]) => [
      Number(x),
      Number(y)
    ])
    assert.lengthOf(places, 12)
    for (const [x, y] of places) assert.isTrue(x! >= 0 && x! <= 720 && y! >= 0 && y! <= 380, `${x}, ${y}`)
  })
})

describe("the page of the benchmarks", () => {
  const samples = new Map([
    ["ours", [120, 110, 130]],
    ["theirs", [10, 11, 10]],
    ["close", [119, 111, 131]],
    ["half", [60, 55, 65]],
    ["slow", [1200, 1100, 1300]],
    ["1 MB", [1e6, 1e6, 1e6]],
    ["memory", [70e6, 71e6, 72e6]]
  ])
  const unit = "ns/call"
  const measured = compare(samples, [
    { id: "a.reached", ours: "ours", theirs: "slow", unit, floor: 5, goal: 10 },
    { id: "a.half", ours: "ours", theirs: "half", unit, floor: null },
    { id: "a.held", ours: "ours", theirs: "theirs", unit, floor: 1 / 20, goal: 1 / 3 },
    { id: "a.even", ours: "ours", theirs: "close", unit, floor: null },
    { id: "a.missed", ours: "memory", theirs: "1 MB", unit: "MB", floor: 64, goal: 40, lowerIsBetter: true }
  ])
  const ofPeers = comparisonsOfPeers.flatMap((comparison) =>
    compare(
      new Map([
        [comparison.ours, [20e6]],
        [comparison.theirs, [10e6]]
      ]),
      [comparison]
    )
  )
  const results: Results = {
    date: "2026-01-02",
    rounds: 3,
    minutes: 14.4,
    machine: {
      processor: "P",
      cores: 2,
      memoryGb: 4,
      system: "Linux 6",
      versions: { toolstream: "0.1.0", execa: "1.2.3" }
    },
    parts: [{ name: "a", title: "Some part", says: "Something.", measured }],
    peers: byTask(ofPeers),
    curves: [curve]
  }
  const lines = (gap: string) => toMarkdown(results, `<!-- ${gap} -->`).split("\n")

  it("has the bars of every row, and says which are missed", () => {
    assert.deepStrictEqual(lines("bars"), [
      "| what | beside | measured | floor | goal |  |",
      "| --- | --- | --- | --- | --- | --- |",
      "| ours | slow | **10 × as fast** | 5 × as fast | 10 × as fast | goal reached |",
      "| ours | theirs | **12 × the time** | 20 × the time | 3 × the time | holds |",
      "| memory |  | **71.0 MB** | 64.0 MB | 40.0 MB | **missed** |"
    ])
  })

  it("says where ours is slower than whom, the worst first, and what is too close to call", () => {
    const [first, second, ...rest] = lines("slower")
    assert.strictEqual(
      first,
      "- **ours** takes 12 × the time of theirs (120 ns beside 10.0 ns); 2 × the time of half (120 ns beside 60.0 ns)."
    )
    assert.match(
      second!,
      /^- \*\*a trivial call, dispatched\*\* takes 2 × the time of effect\/ai's .*; 2 × the time of Mastra's/
    )
    assert.strictEqual(rest.at(-1), "Too close to call in this run: ours, beside close.")
    assert.notInclude(lines("slower").join(), "MB")
  })

  it("has the growth of every curve, and says which is worse than n log n", () => {
    assert.deepStrictEqual(lines("curves").slice(-4), [
      '![Spins & "turns" < 2, by spins at once](benchmarks/spins.svg)',
      "",
      "- a spin: 1.00 µs at 1, 1.10 µs at 100,000. The cost of n grows as n^1.02, n log n as n^1.11: not worse.",
      "- all spins: 10.0 ns at 1, 100 s at 100,000. The cost of n grows as n^2.00, n log n as n^1.11: **worse**."
    ])
  })

  it("has every other library with its version, beside ours", () => {
    const [start, output] = lines("peers").filter((line) => line.includes("execa 1.2.3"))
    assert.include(start!, "| execa 1.2.3 | 10.0 ms | 20.0 ms | 2 × the time | 2 × the time |")
    assert.isDefined(output)
  })

  it("knows what to say in every gap of its text", () => {
    const template = fs.readFileSync(new URL("bench/template.md", import.meta.url), "utf8")
    const page = toMarkdown(results, template)
    assert.include(page, "Measured on 2026-01-02 on P, 2 cores, 4 GB, Linux 6; all of it in one run of\n14 minutes.")
    assert.notInclude(page, "<!--")
    assert.throws(() => toMarkdown(results, "<!-- nothing -->"), "nothing")
  })
})
