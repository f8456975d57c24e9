/**
 * `grep`: lines of files that match a regular expression. Progress says what was
 * found since the last one, at most ten times a second.
 *
 * The answer is the first `limit` results by path, then line, whatever order they
 * were found in; what follows is counted. Memory is bounded by `limit`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as PlainText from "../src/PlainText.ts"
import { type Found, Search, SearchFailed } from "../src/Search.ts"
import * as Tool from "../src/Tool.ts"
import type { ToolContent } from "../src/ToolContent.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { FileUnreachable, WorkspaceFiles } from "../src/WorkspaceFiles.ts"

/** Results returned when the call names no limit. */
const defaultLimit = 200

/** The most results one call returns: more is not read, and would have to be held. */
const maxLimit = 2000

/** Lines of context on one side. With `maxLimit` and `maxText` it bounds what is held: some 40 million code units. */
const maxContext = 20

/** Matching lines after which the search stops. A pattern that matches more was too wide; counting on would cost minutes. */
const workCap = 100_000

/** UTF-16 code units returned of a line. More of one line says little, and other results would have no room. */
const maxText = 500

/** Reasons for skipped files that are returned. The rest is counted. */
const maxSkipped = 20

/** Lines that are named because they are cut. More names say no more. */
const maxNamed = 10

/** Lines in one progress. A burst is not what anybody reads. */
const maxBatch = 20

/** Bytes of UTF-8 of the lines that the model reads: some 12,000 tokens. */
const maxContent = 50_000

/** Time between two progress values, in ms. */
const progressEvery = 100

const Line = Schema.Struct({
  /** From 1. */
  line: Schema.Natural,
  /** Plain text, at most 500 UTF-16 code units. */
  text: Schema.String,
  /** It matches; otherwise it is context. */
  match: Schema.Boolean,
  /** The line goes on: … stands for its end. */
  cut: Schema.optionalKey(Schema.Literal(true))
})
type Line = typeof Line.Type

/**
 * What was found in one file.
 *
 * @category models
 * @since 0.1.0
 */
export const FileMatches = Schema.Struct({
  path: Schema.String,
  /** Matching lines of the file that were found, shown or not. */
  matches: Schema.Natural,
  /** In order. Empty unless `mode` is "content". */
  lines: Schema.Array(Line)
})
export type FileMatches = typeof FileMatches.Type

/**
 * What was found.
 *
 * @category models
 * @since 0.1.0
 */
export const Matches = Schema.Struct({
  mode: Schema.Literals(["content", "files", "count"]),
  /** By path. */
  files: Schema.Array(FileMatches),
  /** Results in `files`: matching lines if `mode` is "content", otherwise files. */
  shown: Schema.Natural,
  /** Results that were found, of the same kind. */
  total: Schema.Natural,
  /** Everything was searched. Otherwise there may be more, also before what is shown. */
  complete: Schema.Boolean,
  /** Files that were not, or not wholly, searched. */
  skipped: Schema.Natural,
  /** Some of them, and why. */
  skippedFiles: Schema.Array(Schema.Struct({ path: Schema.String, why: Schema.String })),
  /** Files were left out because ignore files say so. Absent if the search did not come to its end. */
  ignored: Schema.optionalKey(Schema.Boolean)
})
export type Matches = typeof Matches.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class Grep extends Tool.Service<Grep>()("grep", {
  title: "Search in files",
  description:
    "Search the contents of files with a regular expression (Rust syntax: no look-around, no back-references). " +
    "Hidden files are searched, ignored ones (.gitignore) are not, unless path names them.",
  parameters: {
    pattern: Schema.NonEmptyString.annotate({
      description: "Regular expression. Escape ( [ { . * + ? to find them literally."
    }),
    path: Schema.optionalKey(Schema.String).annotate({ description: "File or directory; the workspace if absent." }),
    glob: Schema.optionalKey(Schema.NonEmptyString).annotate({
      description: "Only files that match, such as *.ts or src/**/*.css, seen from path. Finds ignored files, too."
    }),
    type: Schema.optionalKey(Schema.NonEmptyString).annotate({
      description: "Only files of a type, such as ts, py, rust."
    }),
    caseInsensitive: Schema.optionalKey(Schema.Boolean),
    multiline: Schema.optionalKey(Schema.Boolean).annotate({ description: "The pattern may match across lines." }),
    before: Schema.optionalKey(context("before")),
    after: Schema.optionalKey(context("after")),
    mode: Schema.optionalKey(Schema.Literals(["content", "files", "count"])).annotate({
      description:
        "Matching lines (content, the default), only paths (files), or matching lines counted by file (count)."
    }),
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxLimit }))).annotate({
      description: `Most results to return: lines, or files. ${defaultLimit} if absent.`
    })
  },
  progress: Schema.Struct({
    /** Matching lines so far. */
    matches: Schema.Natural,
    /** Files with matches so far. */
    files: Schema.Natural,
    skipped: Schema.Natural,
    /** Some of the lines found since the last progress. */
    found: Schema.Array(Schema.Struct({ path: Schema.String, line: Schema.Natural, text: Schema.String }))
  }),
  success: Matches,
  failure: Schema.Union([FileUnreachable, SearchFailed]),
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: (success) => content(success)
}) {}

function context(side: string) {
  return Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxContext })).annotate({
    description: `Lines of context ${side} each match, at most ${maxContext}. Only for content.`
  })
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = Grep.toLayer(
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles
    const { search } = yield* Search

    return ({ after, before, limit = defaultLimit, mode = "content", path = ".", ...query }) =>
      ToolStream.suspend(() => {
        const collected = new Collected(mode, limit, mode === "content" ? (after ?? 0) : 0)
        return ToolStream.callback((emit: (progress: Tool.Progress<typeof Grep>) => Effect.Effect<void>) =>
          Effect.gen(function* () {
            const target = yield* files.resolve(path)
            const shown = yield* files.display(target.path)
            collected.base = { real: target.path, shown, isDirectory: target.type === "directory" }
            const found = search({
              ...query,
              path: target.path,
              ...(mode === "content" ? { before, after } : {})
            })
            let last = -Infinity
            yield* found.pipe(
              Stream.chunks,
              Stream.takeWhile(() => collected.matches < workCap),
              Stream.runForEach((chunk) =>
                Effect.clockWith((clock) => {
                  for (const one of chunk) collected.push(one)
                  const now = clock.currentTimeMillisUnsafe()
                  if (now - last < progressEvery || !collected.hasNews) return Effect.void
                  last = now
                  return emit(collected.news())
                })
              )
            )
            return collected.result(collected.matches < workCap)
          })
        ).pipe(ToolStream.withPartial(() => collected.result(false)))
      })
  })
)

// -----------------------------------------------------------------------------
// Collecting
// -----------------------------------------------------------------------------

interface File {
  /** As it was found. */
  readonly path: string
  matches: number
}

/** A result that may be shown: a matching line with the context before and behind it, or a file. */
interface Item {
  readonly file: File
  /** Of the match; 0 for a file. */
  readonly line: number
  readonly lines: Array<Line>
}

/** What was found so far: the first `limit` items, and numbers of the rest. */
class Collected {
  base = { real: "", shown: "", isDirectory: false }
  matches = 0
  private readonly first: FirstItems
  private fileCount = 0
  private file: File | undefined
  /** The last match of `file`. */
  private item: Item | undefined
  /** Context that belongs to the next match of `file`. */
  private waiting: Array<Line> = []
  private skipped = 0
  private ignored: boolean | undefined
  private readonly skippedFiles: Array<{ readonly path: string; readonly why: string }> = []
  private batch: Array<Tool.Progress<typeof Grep>["found"][number]> = []
  private told = 0
  private readonly mode: Matches["mode"]
  private readonly after: number

  constructor(mode: Matches["mode"], limit: number, after: number) {
    this.mode = mode
    this.after = after
    this.first = new FirstItems(limit)
  }

  push(found: Found): void {
    if (found._tag === "Skipped") {
      this.skipped++
      if (this.skippedFiles.length < maxSkipped) this.skippedFiles.push({ path: this.show(found.path), why: found.why })
      return
    }
    if (found._tag === "End") {
      this.ignored = found.ignored
      return
    }
    if (found.path !== this.file?.path) {
      this.file = { path: found.path, matches: 0 }
      this.item = undefined
      this.waiting = []
    }
    if (found.match) this.pushMatch(this.file, found)
    else if (this.mode === "content") this.pushContext(found)
  }

  private pushMatch(file: File, found: Found & { readonly _tag: "Line" }): void {
    this.matches++
    if (file.matches++ === 0) {
      this.fileCount++
      if (this.mode !== "content") this.first.add({ file, line: 0, lines: [] })
    }
    const line = lineOf(found)
    if (this.batch.length < maxBatch) this.batch.push({ path: this.show(found.path), line: line.line, text: line.text })
    if (this.mode !== "content") return
    this.item = { file, line: found.line, lines: [...this.waiting, line] }
    this.waiting = []
    this.first.add(this.item)
  }

  private pushContext(found: Found & { readonly _tag: "Line" }): void {
    if (this.item !== undefined && found.line <= this.item.line + this.after) this.item.lines.push(lineOf(found))
    else {
      this.waiting.push(lineOf(found))
      if (this.waiting.length > maxContext) this.waiting.shift()
    }
  }

  get hasNews(): boolean {
    return this.matches + this.skipped > this.told
  }

  news(): Tool.Progress<typeof Grep> {
    const found = this.batch
    this.batch = []
    this.told = this.matches + this.skipped
    return { matches: this.matches, files: this.fileCount, skipped: this.skipped, found }
  }

  result(complete: boolean): Matches {
    const items = this.first.sorted()
    const files: Array<FileMatches & { readonly lines: Array<Line> }> = []
    let last: File | undefined
    for (const { file, lines } of items) {
      if (file !== last) files.push({ path: this.show(file.path), matches: file.matches, lines: [] })
      files.at(-1)!.lines.push(...lines)
      last = file
    }
    return {
      mode: this.mode,
      files,
      shown: items.length,
      total: this.mode === "content" ? this.matches : this.fileCount,
      complete,
      skipped: this.skipped,
      skippedFiles: this.skippedFiles.toSorted((a, b) => compare(a.path, b.path)),
      ...(this.ignored === undefined ? {} : { ignored: this.ignored })
    }
  }

  /** A path below what was searched is shown below what that is shown as. */
  private show(path: string): string {
    const { isDirectory, real, shown } = this.base
    const prefix = real.endsWith("/") ? real : `${real}/`
    if (path === real) return shown
    if (!isDirectory || !path.startsWith(prefix)) return path
    const below = path.slice(prefix.length)
    return shown === "." ? below : shown.endsWith("/") ? shown + below : `${shown}/${below}`
  }
}

const lineOf = ({ line, match, text }: Found & { readonly _tag: "Line" }): Line =>
  text.length <= maxText
    ? { line, text, match }
    : { line, text: `${PlainText.take(text, maxText - 1)}…`, match, cut: true }

/** The first items in order, of all that were added: a heap with the last of them on top. */
class FirstItems {
  private readonly heap: Array<Item> = []
  private readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  add(item: Item): void {
    const { heap } = this
    if (heap.length < this.limit) {
      heap.push(item)
      this.up(heap.length - 1)
    } else if (order(item, heap[0]!) < 0) {
      heap[0] = item
      this.down(0)
    }
  }

  sorted(): ReadonlyArray<Item> {
    return this.heap.toSorted(order)
  }

  private up(at: number): void {
    for (let child = at; child > 0;) {
      const parent = (child - 1) >> 1
      if (order(this.heap[child]!, this.heap[parent]!) <= 0) return
      this.swap(child, parent)
      child = parent
    }
  }

  private down(at: number): void {
    for (let parent = at; ;) {
      const left = 2 * parent + 1
      if (left >= this.heap.length) return
      const right = left + 1
      const last = right < this.heap.length && order(this.heap[right]!, this.heap[left]!) > 0 ? right : left
      if (order(this.heap[last]!, this.heap[parent]!) <= 0) return
      this.swap(parent, last)
      parent = last
    }
  }

  private swap(a: number, b: number): void {
    const item = this.heap[a]!
    this.heap[a] = this.heap[b]!
    this.heap[b] = item
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const order = (a: Item, b: Item): number => compare(a.file.path, b.file.path) || a.line - b.line

// -----------------------------------------------------------------------------
// What the model reads
// -----------------------------------------------------------------------------

/** The lines as ripgrep prints them; notes stand in a block of their own, so that no file can forge them. */
const content = (matches: Matches): ReadonlyArray<ToolContent> => {
  const { complete, files, ignored, mode, shown, skipped, skippedFiles, total } = matches
  const noun = mode === "content" ? "matching line" : "matching file"
  const some = skippedFiles.map(({ path, why }) => `${path} (${why})`).join(", ")
  const lines = files.flatMap((file) => linesOf(mode, file))
  const cut = files.flatMap(({ lines, path }) => lines.filter(({ cut }) => cut).map(({ line }) => `${path}:${line}`))
  const fitting = thatFit(lines)
  const notes = [
    ...(fitting < lines.length
      ? [`Cut at ${maxContent} bytes: the first ${fitting} of ${lines.length} lines are above.`]
      : []),
    ...(cut.length === 0
      ? []
      : [
          `Cut at ${maxText} UTF-16 code units, where … stands: ${cut.slice(0, maxNamed).join(", ")}` +
            `${cut.length > maxNamed ? `, and ${cut.length - maxNamed} more` : ""}.`
        ]),
    ...(total === 0 ? [skipped === 0 && complete ? "No matches." : "No matches, but the search is incomplete."] : []),
    ...(shown < total
      ? [
          `Showing ${shown} of ${total}${complete ? "" : " or more"} ${noun}s. Narrow pattern, path or glob, or raise limit.`
        ]
      : complete || total === 0
        ? []
        : [`The search stopped early: there may be more than ${total === 1 ? `one ${noun}` : `${total} ${noun}s`}.`]),
    ...(skipped === 0
      ? []
      : [`${skipped} file${skipped === 1 ? "" : "s"} skipped: ${some}${skipped > skippedFiles.length ? ", …" : ""}.`]),
    ...(ignored === true ? ["Ignored files were left out. To search them, name one, or its folder, as path."] : [])
  ]
  return [
    ...(total === 0 ? [] : [{ type: "text" as const, text: lines.slice(0, fitting).join("\n") }]),
    ...(notes.length === 0 ? [] : [{ type: "text" as const, text: notes.join("\n") }])
  ]
}

/** How many lines, from the first on, fit into what the model reads. */
const thatFit = (lines: ReadonlyArray<string>): number => {
  const encoder = new TextEncoder()
  let bytes = 0
  const over = lines.findIndex((line) => (bytes += encoder.encode(line).length + 1) > maxContent)
  return over < 0 ? lines.length : over
}

const linesOf = (mode: Matches["mode"], { lines, matches, path }: FileMatches): ReadonlyArray<string> =>
  mode === "files"
    ? [path]
    : mode === "count"
      ? [`${path}:${matches}`]
      : lines.map(({ line, match, text }) => (match ? `${path}:${line}:${text}` : `${path}-${line}-${text}`))
