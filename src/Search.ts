/**
 * The port through which tools search the contents of files.
 *
 * The pattern comes from a model, so it is run by an engine that is linear in
 * the text, never as a `RegExp`.
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
  /** Not, or not wholly, searched. An unmatched binary file is nothing to report. */
  | { readonly _tag: "Skipped"; readonly path: string; readonly why: string }

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
  }
>()("toolstream/Search") {}
