/**
 * Ends the commits of processes that are gone.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as FileName from "./FileName.ts"
import type { Intents, Record } from "./Intent.ts"
import * as TakeBack from "./TakeBack.ts"
import * as Walk from "./Walk.ts"

/**
 * Takes back what was not done, tidies up after what was. Files that somebody changed since are left alone, and logged
 * with the place of their old content.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fnUntraced(function* (walker: Walk.Walker, intents: Intents) {
  const records = yield* intents.claimAbandoned()
  yield* Effect.forEach(records, (record) =>
    Effect.catch(recover(walker, intents, record), (code) =>
      Effect.andThen(
        Effect.logWarning(`The commit ${record.id} could not be ended (${code}). The next start tries again.`),
        intents.leave(record)
      )
    )
  )
}, Effect.uninterruptible)

const recover = Effect.fnUntraced(function* (walker: Walk.Walker, intents: Intents, record: Record) {
  const intent = yield* intents.read(record)
  if (Option.isNone(intent)) return yield* intents.end(record)
  yield* Walk.passing(walker, (pass) =>
    Effect.gen(function* () {
      const folderOf: TakeBack.FolderOf = (names) => Walk.folder(pass, names)
      if (record.done) return yield* TakeBack.tidy(walker.calls, folderOf, intent.value)
      for (const { step, why } of yield* TakeBack.takeBack(walker.calls, folderOf, intent.value)) {
        if (why !== "changed") return yield* Effect.fail(why.code)
        const path = (name: FileName.Raw) => FileName.format(FileName.join([...step.folder, name]))
        yield* Effect.logWarning(
          `${path(step.name)} was changed since a commit to it was broken off, and is left as it is. ` +
            `If it had an old content, that is in ${path(step.backup)}.`
        )
      }
    })
  )
  yield* intents.end(record)
})
