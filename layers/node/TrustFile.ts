/**
 * The files of workspaces that a user trusts, in a file of the user's own: one JSON
 * object, the hash of each by its path.
 *
 * The file is 0600 in a directory that is 0700, and replaced as a whole. One that cannot
 * be read trusts nothing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import type { Trust } from "../permissions/RuleFiles.ts"
import * as Glance from "./Glance.ts"

const Hashes = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

/**
 * The trust cannot be kept. Nothing has changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class TrustNotKept extends Schema.TaggedError<TrustNotKept>()("TrustNotKept", {
  file: Schema.String,
  why: Schema.String
}) {
  override get message() {
    return `${this.file} cannot be written: ${this.why}`
  }
}

/**
 * What is trusted.
 *
 * @category running
 * @since 0.1.0
 */
export const read = (file: string): Effect.Effect<Trust> =>
  Effect.suspend(() =>
    Glance.isMissing(file)
      ? Effect.succeed<Trust>(new Map())
      : Effect.tryPromise(() => fs.readFile(file, "utf8")).pipe(
          Effect.flatMap(Schema.decodeUnknownEffect(Hashes)),
          Effect.map((hashes): Trust => new Map(Object.entries(hashes))),
          Effect.orElseSucceed((): Trust => new Map())
        )
  )

/**
 * Trusts a file with what it says, or, without a hash, no longer.
 *
 * @category running
 * @since 0.1.0
 */
export const set = (
  file: string,
  entry: { readonly path: string; readonly hash: string | undefined }
): Effect.Effect<void, TrustNotKept> =>
  Effect.flatMap(read(file), (trust) => {
    const hashes = new Map(trust)
    if (entry.hash === undefined) hashes.delete(entry.path)
    else hashes.set(entry.path, entry.hash)
    return Effect.tryPromise({
      try: () => replace(file, `${JSON.stringify(Object.fromEntries(hashes), undefined, 2)}\n`),
      catch: (error) => new TrustNotKept({ file, why: error instanceof Error ? error.message : String(error) })
    })
  })

/** Whoever reads it meanwhile reads the old one. */
const replace = async (file: string, text: string): Promise<void> => {
  await fs.mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}`
  await fs.writeFile(temporary, text, { mode: 0o600 })
  await fs.rename(temporary, file)
}
