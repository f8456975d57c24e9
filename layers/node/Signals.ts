/**
 * The user's wish that the program ends, as the system tells it.
 *
 * The first signal is a wish: the program winds up and says how it ended. A
 * second one is not: it exits at once, with status 130.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** Signals that end a program, and what is told of each. */
const whys = {
  SIGINT: "interrupted by the user",
  SIGTERM: "the program was asked to end (SIGTERM)",
  SIGHUP: "the terminal was closed (SIGHUP)"
} as const

/**
 * Time in ms in which signals are one. Ctrl-C reaches a program that runs under
 * npm twice: from the terminal and from npm. More would keep a user waiting who
 * means it.
 */
const sameMs = 100

/**
 * @category services
 * @since 0.1.0
 */
export class Signals extends Context.Service<
  Signals,
  {
    /** Waits for the first signal, and says why. */
    readonly first: Effect.Effect<string>
    readonly received: Effect.Effect<boolean>
    /**
     * Until the scope closes Ctrl-C is told here, once, and does not mean the program. A second one does, as ever.
     */
    readonly interrupts: Effect.Effect<Effect.Effect<string>, never, Scope.Scope>
  }
>()("toolstream/Signals") {}

/**
 * Listens until the scope closes.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Signals> = Layer.effect(
  Signals,
  Effect.gen(function* () {
    const first = yield* Deferred.make<string>()
    let lastAt = -Infinity
    /** Those who want to be told of Ctrl-C. The last one is. */
    let catchers: ReadonlyArray<Deferred.Deferred<string>> = []
    const listen = (signal: NodeJS.Signals) => {
      const now = performance.now()
      if (now - lastAt <= sameMs) return
      lastAt = now
      const told = (signal === "SIGINT" ? catchers.at(-1) : undefined) ?? first
      if (Deferred.isDoneUnsafe(told)) process.exit(130)
      Deferred.doneUnsafe(told, Effect.succeed(isKnown(signal) ? whys[signal] : signal))
    }
    const interrupts = Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => {
          const catcher = Deferred.makeUnsafe<string>()
          catchers = [...catchers, catcher]
          return catcher
        }),
        (catcher) =>
          Effect.sync(() => {
            catchers = catchers.filter((other) => other !== catcher)
          })
      ),
      Deferred.await
    )
    for (const signal of Object.keys(whys)) process.on(signal, listen)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const signal of Object.keys(whys)) process.removeListener(signal, listen)
      })
    )
    return Signals.of({ first: Deferred.await(first), received: Deferred.isDone(first), interrupts })
  })
)

const isKnown = (signal: string): signal is keyof typeof whys => signal in whys
