/**
 * Grants for always, in a file of the user's: one JSON object a line, appended.
 *
 * The file is 0600 in a directory that is 0700. A line that cannot be read, such as one
 * that was cut off by a crash, grants nothing. Such lines, and those that have expired,
 * are cleaned away at the next start, so that what is appended is a line of its own.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Grants from "../permissions/Grants.ts"
import * as Glance from "./Glance.ts"

const Line = Schema.fromJsonString(
  Schema.Struct({
    granted: Grants.Granted,
    /** In ms since 1970. */
    expires: Schema.Finite
  })
)
const read = Schema.decodeUnknownOption(Line)
const write = Schema.encodeSync(Line)

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: {
  readonly file: string
  /** How long a grant for always holds. Default: 30 days. */
  readonly expiry?: Duration.Input | undefined
}): Layer.Layer<Grants.Grants> =>
  Layer.effect(
    Grants.Grants,
    Effect.gen(function* () {
      const { file } = options
      const memory = yield* Grants.make(options)
      const text = Glance.isMissing(file)
        ? ""
        : yield* Effect.orElseSucceed(
            Effect.tryPromise(() => fs.readFile(file, "utf8")),
            () => ""
          )
      const now = yield* Clock.currentTimeMillis
      const lines = text.split("\n").filter((line) => line !== "")
      const held = lines.flatMap((line) => Option.toArray(read(line))).filter(({ expires }) => expires > now)
      for (const { expires, granted } of held) memory.remember(granted, expires)
      const ensured = Effect.tryPromise(() => fs.mkdir(path.dirname(file), { recursive: true, mode: 0o700 }))
      if (lines.length !== held.length || !/(?:^|\n)$/.test(text)) {
        yield* Effect.ignore(Effect.tryPromise(() => replace(file, held.map((line) => `${write(line)}\n`).join(""))))
      }
      return Grants.Grants.of({
        has: memory.grants.has,
        patterns: memory.grants.patterns,
        add: (granted, extent, session) =>
          Effect.andThen(
            memory.grants.add(granted, extent, session),
            extent !== "always"
              ? Effect.void
              : Effect.flatMap(Clock.currentTimeMillis, (now) =>
                  ensured.pipe(
                    Effect.andThen(
                      Effect.tryPromise(() =>
                        fs.appendFile(file, `${write({ granted, expires: now + memory.expiryMs })}\n`, {
                          mode: 0o600
                        })
                      )
                    ),
                    // The call is permitted, and the next one is asked for again.
                    Effect.catch(({ cause }) => Effect.logWarning(`the grant is not kept in ${file}: ${String(cause)}`))
                  )
                )
          )
      })
    })
  )

const replace = async (file: string, text: string): Promise<void> => {
  const temporary = `${file}.${process.pid}`
  await fs.writeFile(temporary, text, { mode: 0o600 })
  await fs.rename(temporary, file)
}
