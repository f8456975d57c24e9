/**
 * What the system says against a file or a directory, in a few words.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "effect/PlatformError"

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

const causeOf = (cause: unknown): string | undefined => (cause instanceof Error ? cause.message : undefined)
