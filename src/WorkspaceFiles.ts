/**
 * The port through which tools reach the files of a session's workspace.
 *
 * **Contract**
 *
 * - A path is absolute, or relative to the session's workspace. It is judged after
 *   links and `..` are resolved, component by component, on what is opened and not
 *   on its name: a directory that is swapped for a link in between leads nowhere.
 *   What lies outside of the workspace and of the roots granted to the session is
 *   refused.
 * - Only regular files are opened, and opening never waits: a FIFO, a socket, a
 *   device or a directory is refused by its type, and nothing is read from it.
 * - An open file is a handle: what happens to its name afterwards does not matter.
 * - Names are bytes to the file system. They have one text form, see `name` of
 *   `Entry`, by which each is listed once and can be reached.
 * - Whoever changes files holds them: calls on the same real file, by whatever name,
 *   are served one after the other in the order they came; calls on different files
 *   run together.
 * - A commit is all or nothing, whatever happens: it fails, it is interrupted, or the
 *   process dies, and the next start finishes it or takes it back.
 * - A file that was changed by somebody else after it was read, in this commit or
 *   earlier in this session, is never overwritten.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/**
 * What a name in a directory stands for. Links are not followed.
 *
 * @category models
 * @since 0.1.0
 */
export const FileType = Schema.Literals(["file", "directory", "symlink", "fifo", "socket", "device"])
export type FileType = typeof FileType.Type

/**
 * A file or directory could not be reached. Nothing was read or changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class FileUnreachable extends Schema.TaggedError<FileUnreachable>()("FileUnreachable", {
  /** As it was asked for. */
  path: Schema.String,
  reason: Schema.Union([
    Schema.TaggedStruct("OutsideWorkspace", { root: Schema.String }),
    Schema.TaggedStruct("NotFound", { similar: Schema.Array(Schema.String) }),
    /** It is there, but not of the kind that was asked for. */
    Schema.TaggedStruct("WrongType", {
      type: Schema.Literals(["file", "directory", "fifo", "socket", "device"])
    }),
    Schema.TaggedStruct("TooLarge", { sizeBytes: Schema.Natural, maxBytes: Schema.Natural }),
    Schema.TaggedStruct("AccessDenied", {}),
    Schema.TaggedStruct("InvalidPath", { why: Schema.String }),
    Schema.TaggedStruct("Other", { code: Schema.String })
  ]),
  /** It was to be changed: then it says that nothing was. */
  toChange: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message(): string {
    return this.toChange === true ? `${this.why} Nothing was changed.` : this.why
  }

  /** The message, without what became of a change. */
  get why(): string {
    const { path, reason } = this
    switch (reason._tag) {
      case "OutsideWorkspace":
        return `${path} is outside of the workspace ${reason.root}. Use a path inside it.`
      case "NotFound":
        return reason.similar.length === 0
          ? `${path} does not exist.`
          : `${path} does not exist. Did you mean ${reason.similar.join(", ")}?`
      case "WrongType":
        return reason.type === "file"
          ? `${path} is a file, not a directory.`
          : `${path} is a ${reason.type}, not a regular file.`
      case "TooLarge":
        return `${path} has ${reason.sizeBytes} bytes; files of more than ${reason.maxBytes} bytes are not changed as a whole.`
      case "AccessDenied":
        return `${path}: permission denied by the file system.`
      case "InvalidPath":
        return `${path} is not a valid path: ${reason.why}.`
      case "Other":
        return `${path} could not be opened (${reason.code}).`
    }
  }
}

/**
 * A commit was refused or failed. Every file is as it was, unless it says that it could not be taken back.
 *
 * @category errors
 * @since 0.1.0
 */
export class CommitFailed extends Schema.TaggedError<CommitFailed>()("CommitFailed", {
  /** As it is shown. */
  path: Schema.String,
  reason: Schema.Union([
    /** Somebody else changed it after this session read it, or while the commit was made. */
    Schema.TaggedStruct("Changed", { since: Schema.Literals(["read", "planned"]) }),
    /** It is there already. */
    Schema.TaggedStruct("Exists", {}),
    /** The file system refused, with this error: no space, a read-only file system, no permission. */
    Schema.TaggedStruct("Refused", { code: Schema.String, doing: Schema.String }),
    /** It failed, and taking it back failed too. The next start of this program tries again. */
    Schema.TaggedStruct("Unfinished", { code: Schema.String })
  ])
}) {
  override get message(): string {
    const { path, reason } = this
    switch (reason._tag) {
      case "Changed":
        return reason.since === "read"
          ? `${path} was changed by somebody else since it was read. Nothing was written: read it again.`
          : `${path} was changed by somebody else in the meantime. Nothing was written: read it again.`
      case "Exists":
        return `${path} exists already. Nothing was written.`
      case "Refused":
        return `${path} could not be written: ${reason.doing} failed (${reason.code}). Nothing was changed.`
      case "Unfinished":
        return `${path} could not be changed, and what was begun could not be taken back (${reason.code}). Read the files again before you go on.`
    }
  }
}

/**
 * An open regular file.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenFile {
  /** Absolute, links resolved, in the text form of names. */
  readonly path: string
  /** In bytes, when it was opened. */
  readonly size: number
  /**
   * At most `length` bytes from `offset` on; fewer only at the end of the file. Whoever reads much gives the memory to
   * read `into`, of at least `length` bytes: to collect new ones takes longer than to fill them.
   */
  readonly read: (offset: number, length: number, into?: Uint8Array) => Effect.Effect<Uint8Array, FileUnreachable>
}

/**
 * A name in a directory.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  /**
   * The name in its text form: itself, where it is plain text; a control character, a byte that is not UTF-8, and a
   * backslash in front of `xHH` are written `\xHH`. Every operation takes it back in this form.
   */
  readonly name: string
  readonly type: FileType
  /** Of a symlink: where it points, in the text form. */
  readonly target?: string | undefined
}

/**
 * A whole file, as it is now.
 *
 * @category models
 * @since 0.1.0
 */
export interface Content {
  readonly bytes: Uint8Array
  /** SHA-256, in hex. */
  readonly hash: string
}

/**
 * One change of a commit. The paths are those that the files are held by.
 *
 * @category models
 * @since 0.1.0
 */
export type Change =
  | {
      readonly _tag: "Write"
      readonly path: string
      readonly bytes: Uint8Array
      /** The hash of the content it replaces, or that there is none. */
      readonly expected: string | "absent"
      /** The file it moves from, whose mode it takes over. That one has a change of its own. */
      readonly from?: string | undefined
    }
  | { readonly _tag: "Delete"; readonly path: string; readonly expected: string }

/**
 * What became of one change.
 *
 * @category models
 * @since 0.1.0
 */
export const Committed = Schema.Struct({
  /** As it is shown: relative to the workspace where it lies inside. */
  path: Schema.String,
  kind: Schema.Literals(["created", "changed", "deleted"]),
  /** SHA-256, in hex. Absent if there was, or is, no file. */
  oldHash: Schema.optionalKey(Schema.String),
  newHash: Schema.optionalKey(Schema.String),
  /** A unified diff with three lines of context; absent where the file is not text, or too large to compare. */
  diff: Schema.optionalKey(Schema.String),
  addedLines: Schema.optionalKey(Schema.Natural),
  removedLines: Schema.optionalKey(Schema.Natural),
  /**
   * What could not be kept of the old file: its owner, its group, its set-id bits. Not named is what the port cannot
   * know of: see its layer.
   */
  notKept: Schema.Array(Schema.String)
})
export type Committed = typeof Committed.Type

/**
 * Where a path leads, in the text form of names, absolute. What does not exist leads to where it would be made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lead {
  /** To the file, all links resolved. */
  readonly path: string
  /** To what the path names itself: the link, if it is one. */
  readonly entry: string
}

/**
 * Files that are held: nobody else who asks here changes them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Held {
  /** Where each path that is held leads, since it is held. */
  readonly leads: ReadonlyMap<string, Lead>
  /** The content now; undefined if there is no such file. One of those that are held. */
  readonly read: (path: string) => Effect.Effect<Content | undefined, FileUnreachable>
  /** Reads several, which costs less than one by one. */
  readonly readAll: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Content | undefined>, FileUnreachable>
  /**
   * Makes the changes, all or nothing. Parents are created. What is committed counts as read by this session. To be
   * asked once.
   */
  readonly commit: (
    changes: ReadonlyArray<Change>
  ) => Effect.Effect<ReadonlyArray<Committed>, FileUnreachable | CommitFailed>
}

/**
 * @category services
 * @since 0.1.0
 */
export class WorkspaceFiles extends Context.Service<
  WorkspaceFiles,
  {
    /** Opens a file to read it. From here on this session has read it: see `Held.commit`. */
    readonly open: (path: string) => Effect.Effect<OpenFile, FileUnreachable, Scope.Scope>
    /** What a path names, absolute and with links resolved, if it is inside. */
    readonly resolve: (
      path: string
    ) => Effect.Effect<{ readonly path: string; readonly type: "file" | "directory" }, FileUnreachable>
    /** The names in a directory, in the order of their bytes. At most `limit` are returned; the rest is counted. */
    readonly list: (
      path: string,
      options: { readonly limit: number }
    ) => Effect.Effect<{ readonly entries: ReadonlyArray<Entry>; readonly total: number }, FileUnreachable>
    /** How a resolved path is shown: relative to the workspace where it lies inside. */
    readonly display: (path: string) => Effect.Effect<string>
    /**
     * What stands for each of these files, existing or not: two paths of one real file have a key in common. A path
     * that leads nowhere, or out of the workspace, stands for itself.
     */
    readonly keys: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Iterable<string>>>
    /** Holds files, existing or not, while `use` runs. Waits for whoever holds one of them. */
    readonly hold: <A, E, R>(
      paths: ReadonlyArray<string>,
      use: (held: Held) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | FileUnreachable, R>
  }
>()("toolstream/WorkspaceFiles") {}
