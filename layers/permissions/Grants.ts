/**
 * What people have permitted for longer than one call.
 *
 * **Contract**
 *
 * - A grant is for one tool with parameters of one hash in one workspace: a call that
 *   differs in anything, or is made elsewhere, is asked for again. The same words run
 *   another program in another folder.
 * - One for a session ends with it, one for always when it expires.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Extent } from "../../src/Permission.ts"
import type { Session } from "../../src/Session.ts"

/**
 * What is permitted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Granted {
  readonly tool: string
  /** SHA-256 of the decoded parameters, in hex. */
  readonly parametersHash: string
  /** Where it was granted. */
  readonly workspace: string
}

/**
 * @category services
 * @since 0.1.0
 */
export class Grants extends Context.Service<
  Grants,
  {
    /** Remembers. Of what is granted once, nothing. */
    readonly add: (granted: Granted, extent: Extent, session: Session) => Effect.Effect<void>
    readonly has: (granted: Granted, session: Session) => Effect.Effect<boolean>
  }
>()("toolstream/permissions/Grants") {}

/** Longer, and a grant outlives what its giver remembers; shorter, and they are asked the same every month. */
const defaultExpiry: Duration.Input = "30 days"

/**
 * Grants in memory, for a store that keeps those for always elsewhere.
 *
 * @category models
 * @since 0.1.0
 */
export interface Memory {
  readonly grants: Grants["Service"]
  /** What was granted before, until a time in ms since 1970. */
  readonly remember: (granted: Granted, expires: number) => void
  readonly expiryMs: number
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: {
  /** How long a grant for always holds. Default: 30 days. */
  readonly expiry?: Duration.Input | undefined
}): Effect.Effect<Memory> =>
  Effect.sync(() => {
    const expiryMs = Duration.toMillis(Duration.fromInputUnsafe(options?.expiry ?? defaultExpiry))
    /** By what is granted, when it expires, in ms of the clock. */
    const always = new Map<string, number>()
    const sessions = new WeakMap<Scope.Scope, Set<string>>()
    const grants = Grants.of({
      add: (granted, extent, session) =>
        Effect.gen(function* () {
          const key = keyOf(granted)
          if (extent === "always") always.set(key, (yield* Clock.currentTimeMillis) + expiryMs)
          if (extent !== "session") return
          const known = sessions.get(session.scope)
          if (known !== undefined) return void known.add(key)
          sessions.set(session.scope, new Set([key]))
          yield* Scope.addFinalizer(
            session.scope,
            Effect.sync(() => sessions.delete(session.scope))
          )
        }),
      has: (granted, session) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const key = keyOf(granted)
          if (sessions.get(session.scope)?.has(key) === true) return true
          const expires = always.get(key)
          if (expires === undefined) return false
          if (expires > now) return true
          always.delete(key)
          return false
        })
    })
    return { grants, remember: (granted, expires) => always.set(keyOf(granted), expires), expiryMs }
  })

/**
 * In memory: those for always end with the program.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = (options?: Parameters<typeof make>[0]): Layer.Layer<Grants> =>
  Layer.effect(
    Grants,
    Effect.map(make(options), ({ grants }) => grants)
  )

const keyOf = ({ parametersHash, tool, workspace }: Granted): string =>
  JSON.stringify([parametersHash, tool, workspace])
