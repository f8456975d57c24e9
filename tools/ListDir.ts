/**
 * `list_dir`: what is in a directory, and below it. No progress.
 *
 * Everything is listed, hidden or ignored or not: the answer to "what is there".
 * Links are shown with where they point, and not followed. What is near comes
 * before what is deep when there is more than `limit`, so that one large folder
 * does not hide the others.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../src/Tool.ts"
import type { ToolContent } from "../src/ToolContent.ts"
import { type Entry, FileType, FileUnreachable, WorkspaceFiles } from "../src/WorkspaceFiles.ts"

/** Entries returned when the call names no limit. */
const defaultLimit = 500

/** The most entries one call returns. Of more nobody reads the last. */
const maxLimit = 5000

/** Deeper trees are searched with glob. */
const maxDepth = 10

/** Directories looked into. More would take seconds; what is below the others is not counted. */
const maxDirectories = 2000

/** Bytes of UTF-8 of the lines that the model reads: some 12,000 tokens. */
const maxContent = 50_000

/**
 * What is in a directory.
 *
 * @category models
 * @since 0.1.0
 */
export const Listing = Schema.Struct({
  path: Schema.String,
  /** In the order of a tree: what is in a directory follows it. */
  entries: Schema.Array(
    Schema.Struct({
      /** As other tools take it. */
      path: Schema.String,
      type: FileType,
      /** Of a symlink: where it points. */
      target: Schema.optionalKey(Schema.String)
    })
  ),
  /** Entries that there are, up to the depth. */
  total: Schema.Natural,
  /** Every directory up to the depth was looked into. Otherwise there are more than `total`. */
  complete: Schema.Boolean,
  /** Directories that could not be looked into. */
  unreadable: Schema.Array(Schema.String)
})
export type Listing = typeof Listing.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class ListDir extends Tool.Service<ListDir>()("list_dir", {
  title: "List directory",
  description:
    "List what is in a directory, hidden and ignored files included. Directories end in /, links show where they " +
    "point and are not followed. What is in .git is listed only if path names it.",
  parameters: {
    path: Schema.optionalKey(Schema.String).annotate({ description: "A directory; the workspace if absent." }),
    depth: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxDepth }))).annotate({
      description: `How many levels to list, at most ${maxDepth}; 1 if absent.`
    }),
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxLimit }))).annotate({
      description: `Most entries to return; ${defaultLimit} if absent.`
    })
  },
  success: Listing,
  failure: FileUnreachable,
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: (success) => content(success)
}) {}

/** A directory to look into, and the indices of the entries that lead to it: they order the tree. */
interface Place {
  readonly path: string
  readonly shown: string
  readonly at: ReadonlyArray<number>
}

interface Item {
  readonly at: ReadonlyArray<number>
  readonly entry: Listing["entries"][number]
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = ListDir.toLayer(
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles

    /** One level: what is in each of the places, as far as there is room, and the directories found there. */
    const level = Effect.fnUntraced(function* (places: ReadonlyArray<Place>, room: number) {
      const items: Array<Item> = []
      const below: Array<Place> = []
      const unreadable: Array<string> = []
      let total = 0
      for (const { at, path, shown } of places) {
        const listed = yield* Effect.result(files.list(path, { limit: room - items.length }))
        if (listed._tag === "Failure") {
          // Of the directory that was asked for it is the failure of the call.
          if (at.length === 0) return yield* listed.failure
          unreadable.push(shown)
          continue
        }
        total += listed.success.total
        for (const [index, { name, target, type }] of listed.success.entries.entries()) {
          const entry = { path: join(shown, name), type, ...(target === undefined ? {} : { target }) }
          items.push({ at: [...at, index], entry })
          if (descends(name, type)) below.push({ path: join(path, name), shown: entry.path, at: [...at, index] })
        }
      }
      return { items, below, unreadable, total }
    })

    return Effect.fn("ListDir.list")(function* ({ depth = 1, limit = defaultLimit, path = "." }) {
      const asked = yield* files.resolve(path)
      const shown = yield* files.display(asked.path)
      const items: Array<Item> = []
      const unreadable: Array<string> = []
      let total = 0
      let looked = 0
      let cut = false
      let places: ReadonlyArray<Place> = [{ path, shown, at: [] }]
      for (let depthNow = 1; depthNow <= depth && places.length > 0; depthNow++) {
        const found: Effect.Success<ReturnType<typeof level>> = yield* level(
          places.slice(0, maxDirectories - looked),
          limit - items.length
        )
        // Directories without room in the answer are not looked into: what is below them is not known.
        cut ||= looked + places.length > maxDirectories || (depthNow < depth && found.items.length < found.total)
        looked += places.length
        total += found.total
        items.push(...found.items)
        unreadable.push(...found.unreadable)
        places = found.below
      }
      return {
        path: shown,
        entries: items.toSorted((a, b) => compare(a.at, b.at)).map(({ entry }) => entry),
        total,
        complete: !cut && unreadable.length === 0,
        unreadable
      }
    })
  })
)

const descends = (name: string, type: Entry["type"]): boolean => type === "directory" && name !== ".git"

const join = (directory: string, name: string): string =>
  directory === "." ? name : directory.endsWith("/") ? directory + name : `${directory}/${name}`

/** As in a tree: what is in a directory comes behind it and before what follows it. */
const compare = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): number => {
  const differs = a.findIndex((index, level) => index !== b[level])
  return differs < 0 ? a.length - b.length : differs >= b.length ? 1 : a[differs]! - b[differs]!
}

/** Notes stand in a block of their own, so that no name can forge them. */
const content = ({ complete, entries, path, total, unreadable }: Listing): ReadonlyArray<ToolContent> => {
  const lines = entries.map(lineOf)
  const encoder = new TextEncoder()
  let bytes = 0
  const over = lines.findIndex((line) => (bytes += encoder.encode(line).length + 1) > maxContent)
  const fitting = over < 0 ? lines.length : over
  const notes = [
    ...(total === 0 ? [`${path} is an empty directory.`] : []),
    ...(fitting < total || !complete
      ? [
          `Showing ${fitting} of ${total}${complete ? "" : " or more"} entries.` +
            (fitting < total ? " List a directory below, or raise limit." : "")
        ]
      : []),
    ...(unreadable.length === 0 ? [] : [`Not readable: ${unreadable.slice(0, 20).join(", ")}.`])
  ]
  return [
    ...(fitting === 0 ? [] : [{ type: "text" as const, text: lines.slice(0, fitting).join("\n") }]),
    ...(notes.length === 0 ? [] : [{ type: "text" as const, text: notes.join("\n") }])
  ]
}

/**
 * What it is, is marked as `ls` does. A name that holds such a mark itself is followed by its type, so that a line that
 * ends in a bracket says the truth there, and any other has only marks of ours.
 */
const lineOf = ({ path, target, type }: Listing["entries"][number]): string => {
  const shown = type === "directory" ? `${path}/` : type === "symlink" ? `${path} -> ${target ?? "?"}` : path
  const imitates = path.includes(" -> ") || shown.endsWith(")")
  return imitates || !marked.has(type) ? `${shown} (${type})` : shown
}

const marked: ReadonlySet<Listing["entries"][number]["type"]> = new Set(["file", "directory", "symlink"])
