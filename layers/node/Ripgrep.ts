/**
 * `Search` by ripgrep.
 *
 * **Details**
 *
 * - Hidden files are searched, the contents of `.git` are not.
 * - `.gitignore`, `.ignore` and `.rgignore` hold whether or not there is a
 *   repository. Those above the searched directory count too, unless it is the
 *   workspace itself and no repository encloses it. The user's own excludes
 *   (`core.excludesFile`, `.git/info/exclude`) and configuration do not count: the
 *   answer is the same on every machine. A path that is named is searched, even
 *   if it is ignored; so is what a glob names.
 * - A file with a NUL is searched, its lines before the first NUL are found, and
 *   it is reported as skipped from there on. UTF-16 with a byte order mark is text.
 * - Lines are cut at 4,096 UTF-16 code units; however long they are, this process
 *   holds at most 64 KiB of one.
 * - ripgrep is killed, and waited for, when the stream is left. When nobody pulls,
 *   it waits.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ChildProcessByStdio, spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import * as Path from "node:path"
import type { Readable } from "node:stream"
import * as PlainText from "../../src/PlainText.ts"
import { type Found, type Query, Search, SearchFailed } from "../../src/Search.ts"
import { CurrentSession } from "../../src/Session.ts"
import * as RipgrepOutput from "./internal/RipgrepOutput.ts"

type Child = ChildProcessByStdio<null, Readable, Readable>

/** Bytes of complaints that are kept: a thousand unreadable files. */
const maxStderr = 128 * 1024

/**
 * Lines of one file that wait for its end, where it is known whether it is binary.
 * Beyond, they are passed on, and only the notice says where they are not reliable.
 */
const maxWaiting = 1000

/**
 * Searches with the given ripgrep, version 15 or later.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: {
  /** A path, or a name on the PATH. */
  readonly program: string
}): Layer.Layer<Search> => Layer.succeed(Search, Search.of({ search: (query) => search(options.program, query) }))

/**
 * Searches with the ripgrep that comes with `@vscode/ripgrep`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Search> = Layer.unwrap(
  // The module throws where the binary for this platform is missing: that must not keep the rest from starting.
  Effect.tryPromise(() => import("@vscode/ripgrep")).pipe(
    Effect.match({
      onSuccess: ({ rgPath }) => layerWith({ program: rgPath }),
      onFailure: () =>
        Layer.succeed(Search, Search.of({ search: () => Stream.fail(unavailable("it is not installed")) }))
    })
  )
)

const unavailable = (why: string) =>
  new SearchFailed({
    reason: "EngineUnavailable",
    message: `The search engine (ripgrep) could not be started: ${why}. Search in another way.`
  })

const search = (program: string, query: Query): Stream.Stream<Found, SearchFailed> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const isDirectory = yield* Effect.promise(() =>
        fs.stat(query.path).then(
          (stats) => stats.isDirectory(),
          () => false
        )
      )
      const cwd = isDirectory ? query.path : Path.dirname(query.path)
      const parents = isDirectory ? yield* looksAbove(query.path) : true
      const run = yield* start(program, argumentsOf(query, parents), cwd)
      const reader = new RipgrepOutput.Reader()
      const files = new Files()
      return Stream.fromAsyncIterable<Uint8Array, SearchFailed>(run.child.stdout, other).pipe(
        Stream.map((bytes): ReadonlyArray<Found> => reader.push(bytes).flatMap((record) => files.push(record))),
        Stream.filter(Arr.isReadonlyArrayNonEmpty),
        Stream.flattenArray,
        Stream.concat(
          Stream.unwrap(
            Effect.map(run.exit, (exit) =>
              files.finished
                ? Stream.fromIterable(skippedOf(run.stderr()))
                : exit.signal !== null
                  ? Stream.fail(other(`it was ended by ${exit.signal}`))
                  : Stream.fail(failureOf(run.stderr(), query))
            )
          )
        )
      )
    })
  )

// -----------------------------------------------------------------------------
// The process
// -----------------------------------------------------------------------------

const argumentsOf = (query: Query, parents: boolean): ReadonlyArray<string> => [
  "--no-config",
  "--json",
  "--binary",
  "--crlf",
  "--hidden",
  "--no-require-git",
  "--no-ignore-global",
  "--no-ignore-exclude",
  ...(parents ? [] : ["--no-ignore-parent"]),
  query.caseInsensitive === true ? "--ignore-case" : "--case-sensitive",
  ...(query.multiline === true ? ["--multiline"] : []),
  ...(query.before ? [`--before-context=${query.before}`] : []),
  ...(query.after ? [`--after-context=${query.after}`] : []),
  ...(query.type === undefined ? [] : [`--type=${query.type}`]),
  // A glob overrides ignore files, and one that matches every directory overrides them all.
  ...(query.glob === undefined || /^[*/]+$/.test(query.glob) ? [] : [`--glob=${query.glob}`]),
  // The last glob that matches wins.
  "--glob=!.git",
  `--regexp=${query.pattern}`,
  "--",
  query.path
]

/** Whether ignore files above a searched directory say anything about it: in a directory of the workspace, or in a repository. */
const looksAbove = Effect.fnUntraced(function* (directory: string) {
  const { workspace } = yield* CurrentSession
  const root = yield* Effect.promise(() => fs.realpath(workspace).catch(() => undefined))
  if (root !== directory) return true
  if (yield* exists(Path.join(directory, ".git"))) return false
  for (let above = Path.dirname(directory); ; above = Path.dirname(above)) {
    if (yield* exists(Path.join(above, ".git"))) return true
    if (above === Path.dirname(above)) return false
  }
})

const exists = (path: string) =>
  Effect.promise(() =>
    fs.access(path).then(
      () => true,
      () => false
    )
  )

interface Exit {
  readonly signal: NodeJS.Signals | null
}

interface Run {
  readonly child: Child
  readonly exit: Effect.Effect<Exit>
  readonly stderr: () => string
}

const start = (
  program: string,
  args: ReadonlyArray<string>,
  cwd: string
): Effect.Effect<Run, SearchFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Run & { readonly gone: Promise<unknown> }, SearchFailed>((resume) => {
      // Nothing of the environment changes what ripgrep does, once it reads no configuration.
      const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] })
      const complaints: Array<Buffer> = []
      let held = 0
      child.stderr.on("data", (bytes: Buffer) => {
        if (held < maxStderr) complaints.push(bytes)
        held += bytes.length
      })
      const gone = new Promise<unknown>((done) => child.once("exit", done))
      const closed = new Promise<Exit>((done) => child.once("close", (_code, signal) => done({ signal })))
      child.once("error", (cause) => resume(Effect.fail(unavailable(cause.message))))
      child.once("spawn", () =>
        resume(
          Effect.succeed({
            child,
            gone,
            exit: Effect.promise(() => closed),
            stderr: () => Buffer.concat(complaints).toString()
          })
        )
      )
    }),
    ({ child, gone }) =>
      Effect.promise(() => {
        child.stdout.destroy()
        child.stderr.destroy()
        if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
        child.kill("SIGKILL")
        return gone
      })
  )

// -----------------------------------------------------------------------------
// What it says
// -----------------------------------------------------------------------------

/** Holds the lines of a file until its end says whether it is binary, and from where on. */
class Files {
  finished = false
  private waiting: Array<RipgrepOutput.Record & { readonly _tag: "Lines" }> = []

  push(record: RipgrepOutput.Record): ReadonlyArray<Found> {
    switch (record._tag) {
      case "Summary":
        this.finished = true
        return []
      case "Lines":
        return this.waiting.push(record) > maxWaiting ? this.flush(Infinity) : []
      case "FileEnd": {
        const { binaryOffset, path } = record
        return binaryOffset === undefined
          ? this.flush(Infinity)
          : [...this.flush(binaryOffset), { _tag: "Skipped", path, why: `binary from byte ${binaryOffset + 1} on` }]
      }
    }
  }

  /** The lines that start before `end`. To ripgrep a NUL ends a line, so numbers behind the first one are wrong. */
  private flush(end: number): ReadonlyArray<Found> {
    const records = this.waiting
    this.waiting = []
    return records
      .filter(({ offset }) => offset < end)
      .flatMap(({ line, lines, match, path }) =>
        lines.map((text, index): Found => ({ _tag: "Line", path, line: line + index, text, match }))
      )
  }
}

const skippedOf = (stderr: string): ReadonlyArray<Found> =>
  stderr.split("\n").flatMap((line): ReadonlyArray<Found> => {
    const complaint = /^rg: (.+?): (?:IO error for operation on .+: )?(.+?)(?: \(os error \d+\))?$/.exec(line)
    return complaint === null
      ? []
      : [{ _tag: "Skipped", path: complaint[1]!, why: PlainText.makeLine(complaint[2]!).toLowerCase() }]
  })

const other = (cause: unknown) =>
  new SearchFailed({ reason: "Other", message: `The search stopped: ${PlainText.makeLine(String(cause))}.` })

/** Why nothing was searched, from what ripgrep printed. */
const failureOf = (stderr: string, query: Query): SearchFailed => {
  const said = PlainText.take(PlainText.make(stderr.trim().replace(/^rg: /, "")), 600)
  const unknownType = /^unrecognized file type: (.*)/.exec(said)
  if (unknownType !== null) {
    return new SearchFailed({
      reason: "InvalidFilter",
      message: `There is no file type ${unknownType[1]}. Use a glob such as *.${query.type} instead.`
    })
  }
  if (/glob/.test(said) && !/regex/.test(said)) {
    return new SearchFailed({ reason: "InvalidFilter", message: `The glob ${query.glob} is not valid: ${said}` })
  }
  if (/regex|not allowed in a regex|error parsing/.test(said)) {
    // Its own advice names options that nobody here can give.
    const [reason] = said.split("\n\n")
    return new SearchFailed({
      reason: "InvalidPattern",
      message: `The pattern is not valid. ${reason}\n${hintFor(reason!.slice(reason!.lastIndexOf("\n") + 1))}`
    })
  }
  return other(said === "" ? "it said nothing" : said)
}

/** Of the last line alone: those above may quote the pattern. */
const hintFor = (said: string): string =>
  /look-around/.test(said)
    ? "Look-ahead and look-behind are not supported: search for more, and choose among what is found."
    : /backreferences/.test(said)
      ? "Back-references are not supported: write out the alternatives."
      : /"\\n"|literal/.test(said)
        ? "Set multiline to search across lines."
        : /size limit/.test(said)
          ? "Use fewer or smaller repetitions."
          : "The syntax is that of Rust's regex: escape ( ) [ ] { } . * + ? | ^ $ \\ with a backslash to search for them literally."
