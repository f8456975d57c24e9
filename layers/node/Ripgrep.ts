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
 *   if it is ignored; so is what the glob of a search names. Globs of a listing
 *   name nothing: see `GlobPattern`.
 * - Whether ignored files were left out is read from what ripgrep says of its work
 *   (`--debug`): to walk the tree a second time would cost a quarter of the search.
 * - A file with a NUL is searched, its lines before the first NUL are found, and
 *   it is reported as skipped from there on. UTF-16 with a byte order mark is text.
 * - Lines are cut at 4,096 UTF-16 code units; however long they are, this process
 *   holds at most 64 KiB of one.
 * - ripgrep runs in the directory that it searches, so that a path whose bytes are
 *   not UTF-8, which no argument can be, is searched as well (on Linux).
 * - ripgrep is killed, and waited for, when the stream is left. When nobody pulls,
 *   it waits.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ChildProcess, spawn } from "node:child_process"
import { constants, realpathSync, statSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as Path from "node:path"
import type { Writable } from "node:stream"
import * as PlainText from "../../src/PlainText.ts"
import {
  type Found,
  type Listed,
  type Listing,
  type Query,
  Search,
  SearchFailed,
  type Skipped,
  type TextLine,
  type TextQuery
} from "../../src/Search.ts"
import { CurrentSession } from "../../src/Session.ts"
import * as FileName from "./internal/FileName.ts"
import * as GlobPattern from "./internal/GlobPattern.ts"
import * as RipgrepOutput from "./internal/RipgrepOutput.ts"
import * as TailedOutput from "./internal/TailedOutput.ts"

/** Bytes of complaints that are kept: a thousand unreadable files. */
const maxStderr = 128 * 1024

/**
 * Lines of one file that wait for its end, where it is known whether it is binary.
 * Beyond, they are passed on, and only the notice says where they are not reliable.
 */
const maxWaiting = 1000

/** Time between two looks at what was found, in ms. Less costs more than it tells; more delays the first thing found. */
const outputEvery = 25

/** The same for what ripgrep says beside it, which nobody waits for before the end. */
const talkEvery = 250

/** Things found that are given at once, or some more. More would hold up who reads them. */
const maxPulled = 5000

/**
 * Searches with the given ripgrep, version 15 or later.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: {
  /** A path, or a name on the PATH. */
  readonly program: string
}): Layer.Layer<Search> =>
  Layer.succeed(
    Search,
    Search.of({
      search: (query) => search(options.program, query),
      searchText: (query, text) => searchText(options.program, query, text),
      files: (listing) => list(options.program, listing)
    })
  )

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
      onFailure: () => {
        const failed = Stream.fail(unavailable("it is not installed"))
        return Layer.succeed(Search, Search.of({ search: () => failed, searchText: () => failed, files: () => failed }))
      }
    })
  )
)

const unavailable = (why: string) =>
  new SearchFailed({
    reason: "EngineUnavailable",
    message: `The search engine (ripgrep) could not be started: ${why}. Search in another way.`
  })

// -----------------------------------------------------------------------------
// Contents
// -----------------------------------------------------------------------------

const search = (program: string, query: Query): Stream.Stream<Found, SearchFailed> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const target = yield* targetOf(query.path)
      const args = ["--json", ...(yield* rulesFor(target)), ...optionsOf(query), "--", target.operand]
      const reader = new RipgrepOutput.Reader(target.path, target)
      const files = new Files()
      const run = yield* start<Found>(program, args, target, (bytes, found) => {
        for (const record of reader.push(bytes)) files.push(record, found)
      })
      return Stream.concat(
        run.found,
        Stream.unwrap(
          Effect.map(run.exit, ({ signal, talk }) =>
            files.finished
              ? Stream.fromIterable<Found>([
                  ...skippedOf(talk.complaints, target),
                  { _tag: "End", ignored: talk.ignored }
                ])
              : Stream.fail(signal === null ? failureOf(talk.complaints, query) : other(`it was ended by ${signal}`))
          )
        )
      )
    })
  )

const optionsOf = (query: Query): ReadonlyArray<string> => [
  "--binary",
  "--crlf",
  query.caseInsensitive === true ? "--ignore-case" : "--case-sensitive",
  ...(query.multiline === true ? ["--multiline"] : []),
  ...(query.before ? [`--before-context=${query.before}`] : []),
  ...(query.after ? [`--after-context=${query.after}`] : []),
  ...(query.type === undefined ? [] : [`--type=${query.type}`]),
  // A glob overrides ignore files, and one that matches every directory overrides them all.
  ...(query.glob === undefined || /^[*/]+$/.test(query.glob) ? [] : [`--glob=${query.glob}`]),
  // The last glob that matches wins.
  "--glob=!.git",
  `--regexp=${query.pattern}`
]

/** What comes by ripgrep's standard input has no path. */
const standardInput: Target = { path: "/-", isDirectory: false, cwd: "/", operand: "-", handle: undefined }

const searchText = <E>(
  program: string,
  query: TextQuery,
  text: Stream.Stream<Uint8Array, E>
): Stream.Stream<TextLine, SearchFailed | E> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const args = [
        "--no-config",
        "--json",
        "--text",
        query.caseInsensitive === true ? "--ignore-case" : "--case-sensitive",
        `--regexp=${query.pattern}`,
        "--",
        standardInput.operand
      ]
      const reader = new RipgrepOutput.Reader(standardInput.path, standardInput)
      let finished = false
      const run = yield* start<TextLine>(
        program,
        args,
        standardInput,
        (bytes, found) => {
          for (const record of reader.push(bytes)) {
            if (record._tag === "Summary") finished = true
            if (record._tag === "Lines") found.push({ line: record.line, text: record.lines[0] ?? "" })
          }
        },
        "pipe"
      )
      const fed = yield* Effect.forkScoped(feed(run.stdin, text))
      return Stream.concat(
        run.found,
        Stream.unwrap(
          Effect.map(Effect.andThen(Fiber.join(fed), run.exit), ({ signal, talk }) =>
            finished
              ? Stream.empty
              : Stream.fail(
                  signal === null
                    ? failureOf(talk.complaints, {}, "Lines are searched one by one: look for what is on one of them.")
                    : other(`it was ended by ${signal}`)
                )
          )
        )
      )
    })
  )

/** Until there is no more, or nobody reads it: ripgrep ends at once if the pattern is not valid. */
const feed = <E>(stdin: Writable | null, text: Stream.Stream<Uint8Array, E>): Effect.Effect<void, E> => {
  if (stdin === null) return Effect.void
  return text.pipe(
    Stream.takeWhile(() => !stdin.destroyed),
    Stream.runForEach((bytes) =>
      Effect.callback<void>((resume) => {
        stdin.write(bytes, () => resume(Effect.void))
      })
    ),
    Effect.ensuring(Effect.sync(() => stdin.end()))
  )
}

// -----------------------------------------------------------------------------
// Names
// -----------------------------------------------------------------------------

const list = (program: string, listing: Listing): Stream.Stream<Listed, SearchFailed> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const glob = GlobPattern.make(listing.pattern)
      if ("why" in glob) {
        const message = `The pattern ${listing.pattern} is not valid: ${glob.why}. Put a backslash before a bracket that is part of a name.`
        return yield* new SearchFailed({ reason: "InvalidFilter", message })
      }
      const target = yield* targetOf(listing.path)
      const rules = yield* rulesFor(target)
      const ignore = listing.ignored === true ? ["--no-ignore"] : []
      const args = ["--files", "--null", ...rules, ...ignore, "--glob=!.git", "--", "."]
      const names = new Names()
      const run = yield* start<Listed>(program, args, target, (bytes, listed) => {
        for (const name of names.push(bytes)) {
          if (glob.matches(name)) listed.push({ _tag: "File", path: below(target, name) })
        }
      })
      return Stream.concat(
        run.found,
        Stream.unwrap(
          Effect.map(run.exit, ({ code, signal, talk }) => {
            if (signal !== null) return Stream.fail(other(`it was ended by ${signal}`))
            const skipped = skippedOf(talk.complaints, target)
            // 1 is for no files at all, 2 for some that could not be listed.
            return code === 0 || code === 1 || skipped.length > 0
              ? Stream.fromIterable<Listed>([...skipped, { _tag: "End", ignored: talk.ignored }])
              : Stream.fail(other(talk.complaints))
          })
        )
      )
    })
  )

/** Takes names apart that end in a NUL and start with `./`. */
class Names {
  private held: Buffer = Buffer.alloc(0)

  push(bytes: Uint8Array): ReadonlyArray<string> {
    const all = Buffer.concat([this.held, bytes])
    const end = all.lastIndexOf(0) + 1
    this.held = all.subarray(end)
    const names: Array<string> = []
    for (let from = 0; from < end;) {
      const next = all.indexOf(0, from)
      names.push(textOf(all.subarray(from + 2, next)))
      from = next + 1
    }
    return names
  }
}

// -----------------------------------------------------------------------------
// The process
// -----------------------------------------------------------------------------

/** What is searched, and how ripgrep is told. */
interface Target {
  /** In the text form. */
  readonly path: string
  readonly isDirectory: boolean
  /** Where ripgrep runs: the directory. */
  readonly cwd: string
  readonly operand: string
  /** An open file or directory that ripgrep inherits as its descriptor 3. */
  readonly handle: fs.FileHandle | undefined
}

const targetOf = Effect.fnUntraced(function* (path: string): Effect.fn.Return<Target, never, Scope.Scope> {
  const bytes = FileName.toBuffer(FileName.parse(path))
  const stats = yield* look(() => statSync(bytes))
  const isDirectory = stats?.isDirectory() ?? false
  const text = bytes.toString()
  if (Buffer.from(text).equals(bytes)) {
    return isDirectory
      ? { path, isDirectory, cwd: text, operand: ".", handle: undefined }
      : { path, isDirectory, cwd: Path.dirname(text), operand: `./${Path.basename(text)}`, handle: undefined }
  }
  const handle = yield* Effect.acquireRelease(
    attempt(() => fs.open(bytes, constants.O_RDONLY | constants.O_NONBLOCK)),
    (handle) => (handle === undefined ? Effect.void : attempt(() => handle.close()))
  )
  const inherited = "/proc/self/fd/3"
  return isDirectory
    ? { path, isDirectory, cwd: inherited, operand: ".", handle }
    : { path, isDirectory, cwd: "/", operand: inherited, handle }
})

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A | undefined> =>
  Effect.promise(() => run().catch(() => undefined))

/** A look at a name, at once: the way to the pool of threads and back takes a hundred times as long. */
const look = <A>(run: () => A): Effect.Effect<A | undefined> => Effect.orElseSucceed(Effect.try(run), () => undefined)

/** The text form of a name. */
const textOf = (bytes: Uint8Array): string => FileName.format(FileName.fromBuffer(bytes))

/** The path, in the text form, of what is found below a directory. */
const below = ({ path }: Target, name: string): string => (path.endsWith("/") ? path + name : `${path}/${name}`)

/** Which files there are to a search. */
const rulesFor = Effect.fnUntraced(function* (target: Target) {
  const parents = target.isDirectory ? yield* looksAbove(target.path) : true
  return [
    "--no-config",
    "--debug",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-exclude",
    ...(parents ? [] : ["--no-ignore-parent"])
  ]
})

/** Whether ignore files above a searched directory say anything about it: in a directory of the workspace, or in a repository. */
const looksAbove = Effect.fnUntraced(function* (directory: string) {
  const { workspace } = yield* CurrentSession
  const root = yield* look(() => realpathSync.native(workspace, { encoding: "buffer" }))
  if (root === undefined || textOf(root) !== directory) return true
  for (let above = directory; ; above = Path.dirname(above)) {
    if (yield* exists(Path.join(above, ".git"))) return above !== directory
    if (above === Path.dirname(above)) return false
  }
})

const exists = (path: string) =>
  Effect.map(
    look(() => statSync(FileName.toBuffer(FileName.parse(path)))),
    (stats) => stats !== undefined
  )

interface Ended {
  readonly code: number
  readonly signal: NodeJS.Signals | null
}

interface Exit extends Ended {
  readonly talk: Talk
}

interface Run<A> {
  /** What was made of the output; whoever pulls gets all that came since. */
  readonly found: Stream.Stream<A, SearchFailed>
  readonly exit: Effect.Effect<Exit, SearchFailed>
  readonly stdin: Writable | null
}

/**
 * That of the time when this is loaded: to read it anew costs 0.3 ms. Nothing in it changes what ripgrep does, once it
 * reads no configuration.
 */
const env: NodeJS.ProcessEnv = { ...process.env }

/** Starts ripgrep, and makes something of what it prints, as it comes. */
const start = Effect.fnUntraced(function* <A>(
  program: string,
  args: ReadonlyArray<string>,
  { cwd, handle }: Target,
  read: (bytes: Uint8Array, found: Array<A>) => void,
  input: "ignore" | "pipe" = "ignore"
): Effect.fn.Return<Run<A>, SearchFailed, Scope.Scope> {
  const open = Effect.mapError(TailedOutput.open, (code) => other(`no temporary file (${code})`))
  const output = yield* open
  // `--debug` is written in pieces, some twenty for the least search: each would wake this process, too.
  const said = yield* open
  const { child, gone } = yield* Effect.acquireRelease(
    Effect.callback<{ readonly child: ChildProcess; readonly gone: Promise<Ended> }, SearchFailed>((resume) => {
      const child = spawn(program, args, { cwd, env, stdio: [input, output.fd, said.fd, handle?.fd ?? "ignore"] })
      // It may end before it has read all.
      child.stdin?.on("error", () => {})
      const gone = new Promise<Ended>((done) =>
        child.once("exit", (code, signal) => {
          said.end()
          output.end()
          done({ code: code ?? 0, signal })
        })
      )
      child.once("error", (cause) => resume(Effect.fail(unavailable(cause.message))))
      child.once("spawn", () => {
        const writer = { signal: (signal: NodeJS.Signals) => child.kill(signal) }
        output.attach(writer, outputEvery)
        said.attach(writer, talkEvery)
        resume(Effect.succeed({ child, gone }))
      })
    }),
    ({ child, gone }) =>
      Effect.promise<unknown>(() => {
        child.stdin?.destroy()
        if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
        child.kill("SIGKILL")
        return gone
      })
  )
  // Whether or not anybody pulls: it is little that is kept.
  const heard = yield* Effect.forkScoped(listen(said))
  const exit = Effect.map(Effect.all([Effect.promise(() => gone), Fiber.join(heard)]), ([ended, talk]): Exit => ({
    ...ended,
    talk
  }))
  return { found: foundIn(output, read), exit, stdin: child.stdin }
})

const foundIn = <A>(
  output: TailedOutput.TailedOutput,
  read: (bytes: Uint8Array, found: Array<A>) => void
): Stream.Stream<A, SearchFailed> => {
  /** Reads what there is, up to what is pulled at once. */
  const next = (): ReadonlyArray<A> => {
    const found: Array<A> = []
    while (found.length < maxPulled) {
      const bytes = output.read()
      if (bytes === undefined) break
      read(bytes, found)
    }
    return found
  }
  const pull: Effect.Effect<Arr.NonEmptyReadonlyArray<A>, SearchFailed | Cause.Done> = Effect.flatMap(
    Effect.try({ try: next, catch: other }),
    (found) =>
      Arr.isReadonlyArrayNonEmpty(found)
        ? Effect.succeed(found)
        : output.finished
          ? Cause.done()
          : Effect.andThen(output.more, pull)
  )
  return Stream.fromPull(Effect.succeed(Effect.suspend(() => pull)))
}

/** Hears all that ripgrep says beside its output, up to its end. */
const listen = (said: TailedOutput.TailedOutput): Effect.Effect<Talk, SearchFailed> =>
  Effect.suspend(() => {
    const talk = new Talk()
    const hear: Effect.Effect<Talk, SearchFailed> = Effect.flatMap(
      Effect.try({ try: () => said.read(), catch: other }),
      (bytes) => {
        if (bytes !== undefined) talk.push(bytes)
        else if (said.finished) return Effect.succeed(talk.finish())
        return bytes === undefined ? Effect.andThen(said.more, hear) : hear
      }
    )
    return hear
  })

/** What ripgrep says beside its output: complaints, and, because of `--debug`, what it does. */
class Talk {
  /** Something was left out because of an ignore file. */
  ignored = false
  complaints = ""
  private line = ""
  /** A read may end within a code point. */
  private readonly decoder = new TextDecoder()

  push(bytes: Uint8Array): void {
    const lines = (this.line + this.decoder.decode(bytes, { stream: true })).split("\n")
    this.line = lines.pop()!
    for (const line of lines) this.take(line)
  }

  finish(): this {
    this.take(this.line)
    return this
  }

  private take(line: string): void {
    if (!line.startsWith("rg: DEBUG|")) {
      if (this.complaints.length < maxStderr) this.complaints += `${line}\n`
    } else if (!this.ignored && line.startsWith("rg: DEBUG|ignore::walk|")) {
      // What a glob or a type leaves out is `Override` or `Types`.
      this.ignored = / Ignore\(IgnoreMatch\(Gitignore\(/.test(line)
    }
  }
}

// -----------------------------------------------------------------------------
// What it says
// -----------------------------------------------------------------------------

/** Holds the lines of a file until its end says whether it is binary, and from where on. */
class Files {
  finished = false
  private waiting: Array<RipgrepOutput.Record & { readonly _tag: "Lines" }> = []

  push(record: RipgrepOutput.Record, found: Array<Found>): void {
    switch (record._tag) {
      case "Summary":
        this.finished = true
        return
      case "Lines":
        if (this.waiting.push(record) > maxWaiting) this.flush(Infinity, found)
        return
      case "FileEnd": {
        const { binaryOffset, path } = record
        this.flush(binaryOffset ?? Infinity, found)
        if (binaryOffset !== undefined) {
          found.push({ _tag: "Skipped", path, why: `binary from byte ${binaryOffset + 1} on` })
        }
      }
    }
  }

  /** The lines that start before `end`. To ripgrep a NUL ends a line, so numbers behind the first one are wrong. */
  private flush(end: number, found: Array<Found>): void {
    for (const { line, lines, match, offset, path } of this.waiting) {
      if (offset >= end) continue
      for (let index = 0; index < lines.length; index++) {
        found.push({ _tag: "Line", path, line: line + index, text: lines[index]!, match })
      }
    }
    this.waiting = []
  }
}

const skippedOf = (stderr: string, target: Target): ReadonlyArray<Skipped> =>
  stderr.split("\n").flatMap((line): ReadonlyArray<Skipped> => {
    const complaint = /^rg: (.+?): (?:IO error for operation on .+: )?(.+?)(?: \(os error \d+\))?$/.exec(line)
    if (complaint === null) return []
    const [, name, why] = complaint
    const path = name!.startsWith("./") ? below(target, textOf(Buffer.from(name!.slice(2)))) : name!
    return [
      { _tag: "Skipped", path: target.isDirectory ? path : target.path, why: PlainText.makeLine(why!).toLowerCase() }
    ]
  })

const other = (cause: unknown) =>
  new SearchFailed({ reason: "Other", message: `The search stopped: ${PlainText.makeLine(String(cause))}.` })

/** Why nothing was searched, from what ripgrep printed. */
const failureOf = (
  stderr: string,
  query: Pick<Query, "glob" | "type">,
  ofNewline = "Set multiline to search across lines."
): SearchFailed => {
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
      message: `The pattern is not valid. ${reason}\n${hintFor(reason!.slice(reason!.lastIndexOf("\n") + 1), ofNewline)}`
    })
  }
  return other(said === "" ? "it said nothing" : said)
}

/** Of the last line alone: those above may quote the pattern. */
const hintFor = (said: string, ofNewline: string): string =>
  /look-around/.test(said)
    ? "Look-ahead and look-behind are not supported: search for more, and choose among what is found."
    : /backreferences/.test(said)
      ? "Back-references are not supported: write out the alternatives."
      : /"\\n"|literal/.test(said)
        ? ofNewline
        : /size limit/.test(said)
          ? "Use fewer or smaller repetitions."
          : "The syntax is that of Rust's regex: escape ( ) [ ] { } . * + ? | ^ $ \\ with a backslash to search for them literally."
