/**
 * What the system says against a file or a directory, in a few words.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "effect/PlatformError"
import * as Stream from "effect/Stream"
import { UsageError } from "./ExitStatus.ts"

/**
 * Why a file or a directory cannot be used, in a few words.
 *
 * @category converting
 * @since 0.1.0
 */
export const of = ({ reason }: PlatformError): string => {
  switch (reason._tag) {
    case "NotFound":
      return "it does not exist"
    case "PermissionDenied":
      return "it may not be read"
    default:
      return reason.description ?? causeOf(reason.cause) ?? reason._tag
  }
}

/**
 * What is read from a file, or from stdin: the program cannot go on without it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reading = <R>(
  what: string,
  bytes: Stream.Stream<Uint8Array, PlatformError, R>
): Stream.Stream<Uint8Array, UsageError, R> =>
  Stream.mapError(bytes, (error) => new UsageError({ message: `${what} cannot be read: ${of(error)}` }))

const causeOf = (cause: unknown): string | undefined => (cause instanceof Error ? cause.message : undefined)
