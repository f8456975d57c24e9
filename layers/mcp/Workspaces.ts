/**
 * Where a client may work: in a folder, or in one inside of it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"

/**
 * Finds the workspace that a client asks for, by a path from the root on. Links are followed, and have to stay inside.
 * Fails with why it cannot be had.
 *
 * @category constructors
 * @since 0.1.0
 */
export const within = (
  root: string
): Effect.Effect<
  (asked: string | undefined) => Effect.Effect<string, string>,
  never,
  FileSystem.FileSystem | Path.Path
> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const find = Effect.fnUntraced(function* (asked: string) {
      const real = yield* fs.realPath(root)
      const wanted = yield* fs.realPath(path.resolve(root, asked))
      const inside = path.relative(real, wanted)
      const { type } = yield* fs.stat(wanted)
      if (type !== "Directory" || inside.split(path.sep)[0] === ".." || path.isAbsolute(inside)) {
        return yield* Effect.fail("outside")
      }
      return inside === "" ? root : wanted
    })
    return (asked) =>
      asked === undefined
        ? Effect.succeed(root)
        : // One answer for all that it cannot be: what there is elsewhere is not told.
          Effect.mapError(find(asked), () => `workspace=${asked} is no folder inside of the server's workspace.`)
  })
