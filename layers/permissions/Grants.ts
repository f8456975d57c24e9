/**
 * What people have permitted for longer than one call.
 *
 * **Contract**
 *
 * - A grant is for one tool in one workspace: the same words run another program in
 *   another folder. It is for parameters of one hash, so that a call that differs in
 *   anything is asked for again, or for what a pattern covers that a person was shown.
 * - One for a session ends with it, one for always when it expires.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { Extent } from "../../src/Permission.ts"
import type { Session } from "../../src/Session.ts"

const place = {
  tool: Schema.String,
  /** Where it was granted. */
  workspace: Schema.String
}

/**
 * What is permitted.
 *
 * @category models
 * @since 0.1.0
 */
export const Granted = Schema.Union([
  Schema.Struct({
    ...place,
    /** SHA-256 of the decoded parameters, in hex. */
    parametersHash: Schema.String
  }),
  Schema.Struct({
    ...place,
    /** A rule, see `Rules`. */
    pattern: Schema.String
  })
])
export type Granted = typeof Granted.Type

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
    /** The patterns that are granted to a tool where the session works. */
    readonly patterns: (tool: string, session: Session) => Effect.Effect<ReadonlyArray<string>>
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
    const always = new Ledger()
    const sessions = new WeakMap<Scope.Scope, Ledger>()
    /** How many have granted something. */
    let inSessions = 0
    const grants = Grants.of({
      add: (granted, extent, session) =>
        Effect.gen(function* () {
          if (extent === "always") always.add(granted, (yield* Clock.currentTimeMillis) + expiryMs)
          if (extent !== "session") return
          const known = sessions.get(session.scope)
          if (known !== undefined) return known.add(granted, Number.POSITIVE_INFINITY)
          const ledger = new Ledger()
          ledger.add(granted, Number.POSITIVE_INFINITY)
          sessions.set(session.scope, ledger)
          inSessions++
          yield* Scope.addFinalizer(
            session.scope,
            Effect.sync(() => {
              if (sessions.delete(session.scope)) inSessions--
            })
          )
        }),
      has: (granted, session) =>
        Effect.map(
          Clock.currentTimeMillis,
          (now) => sessions.get(session.scope)?.has(granted, now) === true || always.has(granted, now)
        ),
      patterns: (tool, session) => {
        if (inSessions === 0 && always.isEmpty) return none
        const own = sessions.get(session.scope)
        const place = { tool, workspace: session.workspace }
        if (own?.knows(place) !== true && !always.knows(place)) return none
        return Effect.map(Clock.currentTimeMillis, (now) => [
          ...(own?.patterns(place, now) ?? []),
          ...always.patterns(place, now)
        ])
      }
    })
    return { grants, remember: (granted, expires) => always.add(granted, expires), expiryMs }
  })

const none = Exit.succeed<ReadonlyArray<string>>([])

type Place = Pick<Granted, "tool" | "workspace">

/** What is granted, and until when, in ms of the clock. */
class Ledger {
  private readonly hashes = new Map<string, number>()
  /** By place. */
  private readonly granted = new Map<string, Map<string, number>>()

  add(granted: Granted, expires: number): void {
    if ("parametersHash" in granted) return void this.hashes.set(keyOf(granted, granted.parametersHash), expires)
    const key = keyOf(granted)
    const patterns = this.granted.get(key) ?? new Map<string, number>()
    this.granted.set(key, patterns.set(granted.pattern, expires))
  }

  has(granted: Granted, now: number): boolean {
    return "parametersHash" in granted
      ? isHeld(this.hashes, keyOf(granted, granted.parametersHash), now)
      : this.patterns(granted, now).includes(granted.pattern)
  }

  /** Of patterns. */
  get isEmpty(): boolean {
    return this.granted.size === 0
  }

  knows(place: Place): boolean {
    return !this.isEmpty && this.granted.has(keyOf(place))
  }

  patterns(place: Place, now: number): ReadonlyArray<string> {
    const patterns = this.granted.get(keyOf(place)) ?? new Map<string, number>()
    return Array.from(patterns.keys()).filter((pattern) => isHeld(patterns, pattern, now))
  }
}

const isHeld = (held: Map<string, number>, key: string, now: number): boolean => {
  const expires = held.get(key)
  if (expires === undefined) return false
  if (expires > now) return true
  held.delete(key)
  return false
}

const keyOf = ({ tool, workspace }: Place, ...more: ReadonlyArray<string>): string =>
  JSON.stringify([tool, workspace, ...more])

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
