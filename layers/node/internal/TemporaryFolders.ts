/**
 * A folder of temporary files for each session that runs commands in a sandbox.
 *
 * They are in one folder of the program, 0700, below that of the system. It goes with the program, each of them with its
 * session. What a program left that died, the next one removes: the name says which process it was.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { rm } from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import type { Session } from "../../../src/Session.ts"
import * as Owner from "./Owner.ts"
import { attempt, type Errno } from "./SystemCalls.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Place {
  /** Real. It holds the folders of all sessions. */
  readonly base: string
  /** That of the session. */
  readonly folder: string
  /** An empty file, to be laid over others. */
  readonly emptyFile: string
}

/**
 * @category models
 * @since 0.1.0
 */
export type TemporaryFolders = (session: Session) => Effect.Effect<Place, Errno>

const prefix = "toolstream-sandbox"

/**
 * Nothing is made before a session asks.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<TemporaryFolders, never, Scope.Scope> = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const sessions = new Map<string, string>()
  const base = yield* Effect.cached(
    Effect.gen(function* () {
      const parent = yield* attempt(() => fs.realpathSync(os.tmpdir()))
      const owner = yield* Owner.current
      yield* removeLeftovers(parent)
      const made = yield* attempt(() => fs.mkdtempSync(path.join(parent, `${prefix}.${owner}.`)))
      yield* Scope.addFinalizer(scope, remove(made))
      return made
    })
  )
  return Effect.fnUntraced(function* (session) {
    const folders = yield* base
    const emptyFile = path.join(folders, "empty")
    const known = sessions.get(session.id)
    const folder = known ?? path.join(folders, `session-${sessions.size}`)
    yield* attempt(() => {
      // Again and again: who clears old files out of /tmp does not ask.
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (!fs.existsSync(emptyFile)) fs.writeFileSync(emptyFile, "", { mode: 0o400 })
      sessions.set(session.id, folder)
    })
    if (known === undefined) yield* Scope.addFinalizer(session.scope, remove(folder))
    return { base: folders, folder, emptyFile }
  })
})

const remove = (folder: string): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise(() => rm(folder, { recursive: true, force: true })))

/** Removes what programs of this user left that have ended. */
const removeLeftovers = Effect.fnUntraced(function* (parent: string) {
  const names = yield* Effect.orElseSucceed(
    attempt(() => fs.readdirSync(parent)),
    (): ReadonlyArray<string> => []
  )
  for (const name of names) {
    const owner = new RegExp(`^${prefix}\\.(\\d+-.*)\\.\\w{6}$`).exec(name)?.[1]
    const isOurs = owner !== undefined && fs.lstatSync(path.join(parent, name), { throwIfNoEntry: false })?.uid === uid
    if (isOurs && (yield* Owner.isGone(owner, 0))) yield* remove(path.join(parent, name))
  }
})

const uid = process.geteuid?.()
