/**
 * The directory that the tools work in.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Glance from "../node/Glance.ts"
import { UsageError } from "./ExitStatus.ts"
import * as PlatformReason from "./PlatformReason.ts"

/**
 * Its absolute path. Fails if it is no directory that can be read.
 *
 * @category constructors
 * @since 0.1.0
 */
export const at = Effect.fn("cli.workspaceAt")(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const unusable = (why: string) =>
    new UsageError({ message: `--workspace ${directory}: ${why}. Give a directory that you can read.` })
  const absolute = yield* Effect.try({
    try: () => path.resolve(directory),
    catch: () => unusable("the current directory does not exist")
  })
  if (Glance.isReadableDirectory(absolute)) return absolute
  const { type } = yield* Effect.mapError(fs.stat(absolute), (error) => unusable(PlatformReason.of(error)))
  if (type !== "Directory") return yield* unusable("it is not a directory")
  yield* Effect.mapError(fs.readDirectory(absolute), (error) => unusable(PlatformReason.of(error)))
  return absolute
})
