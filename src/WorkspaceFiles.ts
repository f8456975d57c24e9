/**
 * The port through which tools reach the files of a session's workspace.
 *
 * **Contract**
 *
 * - A path is absolute, or relative to the session's workspace. It is judged after
 *   links and `..` are resolved, component by component: what lies outside of the
 *   workspace is refused.
 * - Only regular files are opened, and opening never waits: a FIFO, a socket, a
 *   device or a directory is refused by its type, and nothing is read from it.
 * - An open file is a handle: what happens to its name afterwards does not matter.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

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
    Schema.TaggedStruct("AccessDenied", {}),
    Schema.TaggedStruct("InvalidPath", { why: Schema.String }),
    Schema.TaggedStruct("Other", { code: Schema.String })
  ])
}) {
  override get message(): string {
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
 * An open regular file.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenFile {
  /** Absolute, links resolved. */
  readonly path: string
  /** In bytes, when it was opened. */
  readonly size: number
  /** At most `length` bytes from `offset` on; fewer only at the end of the file. */
  readonly read: (offset: number, length: number) => Effect.Effect<Uint8Array, FileUnreachable>
}

/**
 * @category services
 * @since 0.1.0
 */
export class WorkspaceFiles extends Context.Service<
  WorkspaceFiles,
  {
    readonly open: (path: string) => Effect.Effect<OpenFile, FileUnreachable, Scope.Scope>
    /** What a path names, absolute and with links resolved, if it is inside the workspace. */
    readonly resolve: (
      path: string
    ) => Effect.Effect<{ readonly path: string; readonly type: "file" | "directory" }, FileUnreachable>
    /** How a resolved path is shown: relative to the workspace where it lies inside. */
    readonly display: (path: string) => Effect.Effect<string>
  }
>()("toolstream/WorkspaceFiles") {}
