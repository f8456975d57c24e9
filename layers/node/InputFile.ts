/**
 * A file to be read from its beginning to its end, as the bytes come: also a named
 * pipe or `/dev/stdin`, where nothing can be read at a position.
 *
 * @since 0.1.0
 */
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import { type PlatformError, systemError, type SystemErrorTag } from "effect/PlatformError"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { Socket } from "node:net"
import type { Readable } from "node:stream"

/**
 * Opens the file when it is pulled, and closes it when the reader leaves.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stream = (path: string): Stream.Stream<Uint8Array, PlatformError> => {
  const failure = (cause: unknown) =>
    systemError({ module: "InputFile", method: "stream", pathOrDescriptor: path, _tag: tagOf(cause), cause })
  return Stream.unwrap(
    Effect.map(
      Effect.callback<number, PlatformError>((resume) => {
        fs.open(path, (error, fd) => resume(error === null ? Effect.succeed(fd) : Effect.fail(failure(error))))
      }),
      (fd) => NodeStream.fromReadable({ evaluate: () => readable(fd), onError: failure })
    )
  )
}

/** A pipe is read as a socket is: a thread that waits for its writer would keep the program from ending. */
const readable = (fd: number): Readable =>
  fs.fstatSync(fd).isFIFO() ? new Socket({ fd, readable: true, writable: false }) : fs.createReadStream("", { fd })

const tagOf = (cause: unknown): SystemErrorTag => {
  switch (cause instanceof Error && "code" in cause ? cause.code : undefined) {
    case "ENOENT":
      return "NotFound"
    case "EACCES":
    case "EPERM":
      return "PermissionDenied"
    default:
      return "Unknown"
  }
}
