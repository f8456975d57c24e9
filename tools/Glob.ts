/**
 * `glob`: files whose paths match a pattern. No progress.
 *
 * A name that is there wins over a pattern: `app/[id]/page.tsx` is that file, even
 * if it is ignored. What is found otherwise are files that are not ignored; how
 * many ignored ones match is counted beside it and said.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Listing, Search, SearchFailed } from "../src/Search.ts"
import * as Tool from "../src/Tool.ts"
import type { ToolContent } from "../src/ToolContent.ts"
import { FileUnreachable, WorkspaceFiles } from "../src/WorkspaceFiles.ts"

/** Files returned when the call names no limit. */
const defaultLimit = 200

/** The most files one call returns. */
const maxLimit = 5000

/** Matching files after which the listing stops. They are all held, to give the first of them. */
const workCap = 100_000

/** Time for counting the ignored files that match. A huge build folder is not worth more. */
const patience = "2 seconds"

/** Files that could not be listed that are returned. The rest is counted. */
const maxSkipped = 20

/** Bytes of UTF-8 of the lines that the model reads: some 12,000 tokens. */
const maxContent = 50_000

/**
 * The files that match.
 *
 * @category models
 * @since 0.1.0
 */
export const Found = Schema.Struct({
  /** Sorted, as other tools take them. */
  files: Schema.Array(Schema.String),
  /** Files that were found. */
  total: Schema.Natural,
  /** All were listed. Otherwise there may be more, also before those in `files`. */
  complete: Schema.Boolean,
  /** The pattern is the name of this file. */
  literal: Schema.Boolean,
  /** Files that match and were left out because they are ignored. Absent if they were not counted. */
  ignored: Schema.optionalKey(Schema.Natural),
  /** The pattern is the name of a directory, of which nothing is listed. */
  directory: Schema.optionalKey(Schema.String),
  /** Files and directories that could not be listed. */
  skipped: Schema.Natural,
  /** Some of them, and why. */
  skippedFiles: Schema.Array(Schema.Struct({ path: Schema.String, why: Schema.String }))
})
export type Found = typeof Found.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class Glob extends Tool.Service<Glob>()("glob", {
  title: "Find files",
  description:
    "Find files by a glob pattern: *.ts (at any depth), src/**/*.css, {a,b}/[0-9]?.md. Hidden files are found, ignored " +
    "ones (.gitignore) are not, unless the pattern is the name of a file, or path that of an ignored folder. Sorted.",
  parameters: {
    pattern: Schema.NonEmptyString.annotate({
      description: "Seen from path. Without a / it is for the name alone. ** is any number of folders."
    }),
    path: Schema.optionalKey(Schema.String).annotate({ description: "A directory; the workspace if absent." }),
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxLimit }))).annotate({
      description: `Most files to return; ${defaultLimit} if absent.`
    })
  },
  success: Found,
  failure: Schema.Union([FileUnreachable, SearchFailed]),
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: (success) => content(success)
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = Glob.toLayer(
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles
    const search = yield* Search

    /** What is there under this very name. */
    const named = (path: string) => Effect.map(Effect.option(files.resolve(path)), Option.getOrUndefined)

    /** A folder at the start that is there by this very name is no pattern, whatever brackets are in it. */
    const takeFoldersLiterally = Effect.fnUntraced(function* (directory: string, pattern: string) {
      const folders = pattern.split("/").slice(0, -1)
      const wild = folders.findIndex((folder) => /[*?]/.test(folder))
      for (let count = wild < 0 ? folders.length : wild; count > 0; count--) {
        const start = folders.slice(0, count).join("/")
        if (!/[[{]/.test(start)) break
        const found = yield* named(below(directory, start))
        if (found?.type === "directory") return start.replace(/[\\[\]{}]/g, "\\$&") + pattern.slice(start.length)
      }
      return pattern
    })

    const collect = Effect.fnUntraced(function* (listing: Listing) {
      const paths: Array<string> = []
      const skipped: Array<Found["skippedFiles"][number]> = []
      let ignored = false
      yield* search.files(listing).pipe(
        Stream.takeWhile(() => paths.length < workCap),
        Stream.runForEachArray((chunk) =>
          Effect.sync(() => {
            for (const one of chunk) {
              if (one._tag === "File") paths.push(one.path)
              else if (one._tag === "End") ignored = one.ignored
              else skipped.push({ path: one.path, why: one.why })
            }
          })
        )
      )
      return { paths, skipped, ignored }
    })

    const count = (listing: Listing) =>
      search.files(listing).pipe(
        Stream.take(2 * workCap),
        Stream.runFold(
          () => 0,
          (count, one) => count + (one._tag === "File" ? 1 : 0)
        )
      )

    return Effect.fn("Glob.find")(function* ({ limit = defaultLimit, path = ".", pattern }) {
      const target = yield* files.resolve(path)
      if (target.type !== "directory") {
        return yield* new FileUnreachable({ path, reason: { _tag: "WrongType", type: "file" } })
      }
      const inside = pattern.startsWith(`${target.path}/`) ? pattern.slice(target.path.length + 1) : pattern
      const literal = yield* named(below(target.path, inside))
      if (literal?.type === "file") {
        const shown = yield* files.display(below(target.path, inside.replace(/^(\.\/+)+/, "")))
        return { files: [shown], total: 1, complete: true, literal: true, skipped: 0, skippedFiles: [] }
      }
      const listing = { pattern: yield* takeFoldersLiterally(target.path, inside), path: target.path }
      const { ignored, paths, skipped } = yield* collect(listing)
      const complete = paths.length < workCap
      const counted =
        complete && ignored
          ? yield* Effect.timeoutOption(count({ ...listing, ignored: true }), patience)
          : Option.some(paths.length)
      const shown = yield* files.display(target.path)
      const directory = literal === undefined ? undefined : yield* files.display(literal.path)
      return {
        files: paths
          .toSorted(compare)
          .slice(0, limit)
          .map((file) => under(shown, file.slice(below(target.path, "").length))),
        total: paths.length,
        complete,
        literal: false,
        // Files come and go meanwhile.
        ...(Option.isNone(counted) || !complete ? {} : { ignored: Math.max(0, counted.value - paths.length) }),
        ...(directory === undefined ? {} : { directory }),
        skipped: skipped.length,
        skippedFiles: skipped.slice(0, maxSkipped).map(({ path, why }) => ({
          path: path.startsWith(below(target.path, ""))
            ? under(shown, path.slice(below(target.path, "").length))
            : path,
          why
        }))
      }
    })
  })
)

const below = (directory: string, name: string): string =>
  directory.endsWith("/") ? directory + name : `${directory}/${name}`

/** As it is shown, below what the directory is shown as. */
const under = (shown: string, name: string): string => (shown === "." ? name : below(shown, name))

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Notes stand in a block of their own, so that no name can forge them. */
const content = (found: Found): ReadonlyArray<ToolContent> => {
  const { complete, directory, files, ignored = 0, skipped, skippedFiles, total } = found
  const encoder = new TextEncoder()
  let bytes = 0
  const over = files.findIndex((file) => (bytes += encoder.encode(file).length + 1) > maxContent)
  const fitting = over < 0 ? files.length : over
  const some = skippedFiles.map(({ path, why }) => `${path} (${why})`).join(", ")
  const notes = [
    ...(total === 0 ? [skipped === 0 ? "No files match." : "No files match, but the search is incomplete."] : []),
    ...(directory === undefined ? [] : [`${directory} is a directory: use ${directory}/** for the files in it.`]),
    ...(fitting < total
      ? [`Showing ${fitting} of ${total}${complete ? "" : " or more"} files. Narrow pattern or path.`]
      : []),
    ...(ignored === 0
      ? []
      : [
          `${ignored} matching file${ignored === 1 ? " was" : "s were"} left out because ignore files say so. ` +
            "To find them, give a whole name as pattern, or the ignored folder as path."
        ]),
    ...(skipped === 0
      ? []
      : [`Incomplete: ${skipped} not readable: ${some}${skipped > skippedFiles.length ? ", …" : ""}.`])
  ]
  return [
    ...(fitting === 0 ? [] : [{ type: "text" as const, text: files.slice(0, fitting).join("\n") }]),
    ...(notes.length === 0 ? [] : [{ type: "text" as const, text: notes.join("\n") }])
  ]
}
