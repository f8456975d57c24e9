/**
 * The page of the benchmarks: a text with gaps, `template.md`, and what was measured.
 */
import { type Curve, growthOf, type Line } from "./curves/Curve.ts"
import { type Machine, toText, versionsToText } from "./machine.ts"
import { headOf, linesOf, type Profile } from "./profile.ts"
import type { Measured, Row } from "./race.ts"
import { amount, cost, figure, inWords, isAbsolute, reaches, spread } from "./words.ts"

export interface PartResults {
  readonly name: string
  readonly title: string
  readonly says: string
  readonly measured: ReadonlyArray<Measured>
  readonly profiles?: ReadonlyArray<Profile> | undefined
}

/** A race of a library: beside ours, and beside what needs none. */
export interface PeerResults {
  readonly title: string
  readonly ours: string
  readonly raw: string
  readonly peers: ReadonlyArray<{
    readonly package: string
    readonly beside: Measured
    readonly overRaw: Measured
  }>
}

/** All of one run: the page is made of it, and nothing else. */
export interface Results {
  /** As ISO 8601, without the time. */
  readonly date: string
  readonly rounds: number
  readonly minutes: number
  readonly machine: Machine
  readonly parts: ReadonlyArray<PartResults>
  readonly peers: ReadonlyArray<PeerResults>
  readonly curves: ReadonlyArray<Curve>
}

/** Where the pictures are, seen from the page. */
const pictures = "benchmarks"

export const toMarkdown = (results: Results, template: string): string => {
  const gaps = gapsOf(results)
  return template.replaceAll(/<!-- (\S+) -->/g, (_, name: string) => {
    const text = gaps[name]
    if (text === undefined) throw new Error(`nothing is known of the gap "${name}"`)
    return text
  })
}

const gapsOf = (results: Results): Readonly<Record<string, string>> => {
  const { curves, date, machine, minutes, parts, peers, rounds } = results
  const all = parts.flatMap(({ measured }) => measured)
  return {
    date,
    rounds: String(rounds),
    minutes: String(Math.round(minutes)),
    machine: toText(machine),
    versions: versionsToText(machine),
    bars: bars(all),
    slower: slower([...all, ...peers.flatMap(({ peers }) => peers.map(({ beside }) => beside))]),
    rows: parts.map(rows).join("\n\n"),
    memory: memory(all.map(({ row }) => row)),
    peers: peers.map((peer) => peersOf(peer, machine)).join("\n\n"),
    curves: curves.map(curveOf).join("\n\n")
  }
}

const table = (head: ReadonlyArray<string>, lines: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...lines]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n")

const beside = (row: Row) => (isAbsolute(row) ? row.against.replace(/^1 \S+( more)?(, )?/, "") : row.against)

const bars = (measured: ReadonlyArray<Measured>): string =>
  table(
    ["what", "beside", "measured", "floor", "goal", ""],
    measured
      .map(({ row }) => row)
      .filter(({ floor }) => floor !== null)
      .map((row) => [
        row.what,
        beside(row),
        `**${inWords(row, row.ratio)}**`,
        inWords(row, row.floor!),
        row.goal === null ? "" : inWords(row, row.goal),
        standing(row)
      ])
  )

const standing = (row: Row): string => {
  if (!reaches(row, row.floor)) return "**missed**"
  return row.goal !== null && reaches(row, row.goal) ? "goal reached" : "holds"
}

/** What does not come out on the same side in half of the rounds is no difference. */
const isEven = ({ quartiles: [lower, upper] }: Measured) => lower <= 1 && upper >= 1

const slower = (measured: ReadonlyArray<Measured>): string => {
  const compared = measured.filter(({ row }) => !isAbsolute(row))
  const behind = compared
    .filter((measured) => !isEven(measured) && cost(measured.row) > 1)
    .map(({ row }) => row)
    .toSorted((a, b) => cost(b) - cost(a))
  const told = (row: Row) =>
    `${inWords(row, row.ratio)} of ${row.against} (${figure(row, row.ours)} beside ${figure(row, row.theirs)})`
  const lines = [...Map.groupBy(behind, ({ what }) => what)].map(
    ([what, rows]) => `- **${what}** takes ${rows.map(told).join("; ")}.`
  )
  const even = compared.filter(isEven).map(({ row }) => `${row.what}, beside ${row.against}`)
  return [
    lines.length === 0 ? "Nowhere, of what was measured." : lines.join("\n"),
    ...(even.length === 0 ? [] : [`Too close to call in this run: ${even.join("; ")}.`])
  ].join("\n\n")
}

const rows = ({ measured, profiles = [], says, title }: PartResults): string =>
  [`### ${title}`, says, rowsOf(measured), ...profiles.map(profileOf)].join("\n\n")

const profileOf = (profile: Profile): string =>
  `${profile.title}, as V8 samples it:\n\n${table(headOf(profile), linesOf(profile))}`

const rowsOf = (measured: ReadonlyArray<Measured>): string =>
  table(
    ["what", "beside", "ours", "theirs", "ours is", "quartiles"],
    measured.map((measured) => {
      const { row } = measured
      return isAbsolute(row)
        ? [row.what, beside(row), inWords(row, row.ratio), "", "", spread(measured)]
        : [
            row.what,
            row.against,
            figure(row, row.ours),
            figure(row, row.theirs),
            inWords(row, row.ratio),
            spread(measured)
          ]
    })
  )

const memory = (rows: ReadonlyArray<Row>): string =>
  table(
    ["what", "memory", "beside"],
    rows
      .filter(({ unit }) => unit === "bytes" || unit === "MB")
      .map((row) => [
        row.what,
        figure(row, row.ours),
        isAbsolute(row) ? "" : `${row.against}: ${figure(row, row.theirs)}`
      ])
  )

const peersOf = ({ ours, peers, raw, title }: PeerResults, { versions }: Machine): string =>
  `### ${title}\n\n${table(
    ["library", "", "its time", "ours beside it", "ours is", `it over ${raw}`],
    peers
      .toSorted((a, b) => a.beside.row.theirs - b.beside.row.theirs)
      .map(({ beside: { row }, overRaw, package: name }) => [
        row.against,
        `${name} ${versions[name] ?? "?"}`,
        figure(row, row.theirs),
        figure(row, row.ours),
        inWords(row, row.ratio),
        inWords(overRaw.row, overRaw.row.ratio)
      ])
  )}\n\nOurs: ${ours}.`

const curveOf = (curve: Curve): string =>
  [
    `### ${curve.title}`,
    `![${curve.title}, by ${curve.x.label}](${pictures}/${curve.id}.svg)`,
    curve.lines.map((line) => lineOf(curve, line)).join("\n")
  ].join("\n\n")

const lineOf = ({ x, y }: Curve, line: Line): string => {
  const { bar, exponent, isWorse } = growthOf(line)
  const at = (index: number) => {
    const [n, value] = line.points.at(index)!
    return `${amount(value, y.unit)} at ${x.unit === "bytes" ? amount(n, "bytes") : n.toLocaleString("en-US")}`
  }
  const verdict = isWorse ? "**worse**" : "not worse"
  const ends = `${at(0)}, ${at(-1)}`
  return `- ${line.name}: ${ends}. The cost of n grows as n^${exponent.toFixed(2)}, n log n as n^${bar.toFixed(2)}: ${verdict}.`
}
