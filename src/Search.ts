/**
 * The port through which tools search the contents and the names of files.
 *
 * Patterns come from a model, so they are run by engines that are linear in the
 * text, never as a `RegExp`. Paths are in the text form of names, see `Entry` of
 * `WorkspaceFiles`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"

/**
 * What to look for, and where.
 *
 * @category models
 * @since 0.1.0
 */
export interface Query {
  /** A regular expression in the syntax of Rust's `regex`. */
  readonly pattern: string
  /** Resolved, see `WorkspaceFiles.resolve`. */
  readonly path: string
  /** Only files whose names match, in the syntax of gitignore. */
  readonly glob?: string | undefined
  /** Only files of a type that ripgrep knows, such as `ts`. */
  readonly type?: string | undefined
  readonly caseInsensitive?: boolean | undefined
  readonly multiline?: boolean | undefined
  /** Lines of context. */
  readonly before?: number | undefined
  readonly after?: number | undefined
}

/**
 * One thing found. The lines of one file come together, in order; files come in
 * no order.
 *
 * @category models
 * @since 0.1.0
 */
export type Found =
  | {
      readonly _tag: "Line"
      readonly path: string
      /** From 1. */
      readonly line: number
      /** Plain text, see `PlainText`, without its terminator. The end of a very long line may be missing. */
      readonly text: string
      /** It matches; otherwise it is context. */
      readonly match: boolean
    }
  | Skipped
  | End

/**
 * The last one, if everything was searched.
 *
 * @category models
 * @since 0.1.0
 */
export interface End {
  readonly _tag: "End"
  /** Whether files or directories were left out because ignore files say so. */
  readonly ignored: boolean
}

/**
 * A file or directory that was not, or not wholly, searched. An unmatched binary file is nothing to report.
 *
 * @category models
 * @since 0.1.0
 */
export interface Skipped {
  readonly _tag: "Skipped"
  readonly path: string
  readonly why: string
}

/**
 * What to look for in a text.
 *
 * @category models
 * @since 0.1.0
 */
export interface TextQuery {
  /** A regular expression in the syntax of Rust's `regex`. */
  readonly pattern: string
  readonly caseInsensitive?: boolean | undefined
}

/**
 * A line of a text that matches.
 *
 * @category models
 * @since 0.1.0
 */
export interface TextLine {
  /** From 1. */
  readonly line: number
  /** As that of `Found`. */
  readonly text: string
}

/**
 * Which files to list.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listing {
  /** A glob in the syntax of gitignore, seen from `path`. One without `/` is for the name, at any depth. */
  readonly pattern: string
  /** A directory, resolved. */
  readonly path: string
  /** Ignored files, too. */
  readonly ignored?: boolean | undefined
}

/**
 * A file that was listed, in no order.
 *
 * @category models
 * @since 0.1.0
 */
export type Listed = { readonly _tag: "File"; readonly path: string } | Skipped | End

/**
 * The search could not be made.
 *
 * @category errors
 * @since 0.1.0
 */
export class SearchFailed extends Schema.TaggedError<SearchFailed>()("SearchFailed", {
  reason: Schema.Literals(["InvalidPattern", "InvalidFilter", "EngineUnavailable", "Other"]),
  /** Says what was wrong, and what to do. */
  message: Schema.String
}) {}

/**
 * @category services
 * @since 0.1.0
 */
export class Search extends Context.Service<
  Search,
  {
    /** The search ends when the stream is left. */
    readonly search: (query: Query) => Stream.Stream<Found, SearchFailed>
    /** The lines that match, in order, of a text in UTF-8 that is in no file. Each piece is used before the next is pulled. */
    readonly searchText: <E>(
      query: TextQuery,
      text: Stream.Stream<Uint8Array, E>
    ) => Stream.Stream<TextLine, SearchFailed | E>
    /** The files below a directory whose paths match. The listing ends when the stream is left. */
    readonly files: (listing: Listing) => Stream.Stream<Listed, SearchFailed>
  }
>()("toolstream/Search") {}
