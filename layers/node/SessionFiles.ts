/**
 * Conversations, each in a file of the user's: one JSON object a line, appended.
 *
 * The files are 0600 in a directory that is 0700: they hold whatever the tools have read.
 * A line is on the disk when `append` returns. One that was cut off by a crash is left out when the file is read.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { type SessionLog, SessionRecord } from "../agent/SessionLog.ts"

const Line = Schema.fromJsonString(SessionRecord)
const read = Schema.decodeUnknownOption(Line)
const write = Schema.encodeSync(Line)

/**
 * A conversation that was kept, or is to be.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kept {
  readonly sessionId: string
  /** The directory, absolute. */
  readonly workspace: string
}

const fileOf = (folder: string, sessionId: string) => path.join(folder, `${sessionId}.jsonl`)

/** What an id may be: it becomes the name of a file. */
const isId = (id: string): boolean => /^[a-zA-Z0-9-]{1,64}$/.test(id)

/**
 * What is written to the file of a conversation. It is made with the first record.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = (folder: string, { sessionId, workspace }: Kept): SessionLog => {
  const file = fileOf(folder, sessionId)
  let begun = false
  let broken = false
  const begin = Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    yield* Effect.tryPromise(() => fs.mkdir(folder, { recursive: true, mode: 0o700 }))
    const text = yield* Effect.orElseSucceed(
      Effect.tryPromise(() => fs.readFile(file, "utf8")),
      () => ""
    )
    begun = true
    if (text === "") return `${write({ _tag: "Opened", sessionId, workspace, at })}\n`
    // What was cut off must not spoil the next line.
    return text.endsWith("\n") ? "" : "\n"
  })
  const append = (lines: string) =>
    Effect.tryPromise(async () => {
      const handle = await fs.open(file, "a", 0o600)
      try {
        await handle.appendFile(lines)
        await handle.datasync()
      } finally {
        await handle.close()
      }
    })
  return {
    append: (records) =>
      Effect.uninterruptible(
        Effect.gen(function* () {
          const head = begun ? "" : yield* begin
          yield* append(head + records.map((record) => `${write(record)}\n`).join(""))
        })
      ).pipe(
        // The conversation goes on. That it cannot be taken up again is said once.
        Effect.catch(({ cause }) => {
          if (broken) return Effect.void
          broken = true
          return Effect.logWarning(`the conversation is not kept in ${file}: ${String(cause)}`)
        })
      )
  }
}

/**
 * The records of a conversation; none, if there is no such file.
 *
 * @category constructors
 * @since 0.1.0
 */
export const records = (
  folder: string,
  sessionId: string
): Effect.Effect<Option.Option<ReadonlyArray<SessionRecord>>> =>
  isId(sessionId) ? Effect.map(textOf(fileOf(folder, sessionId)), Option.map(parse)) : Effect.succeedNone

/**
 * The conversation that was last begun in a workspace.
 *
 * @category constructors
 * @since 0.1.0
 */
export const latest = (folder: string, workspace: string): Effect.Effect<Option.Option<string>> =>
  Effect.gen(function* () {
    const names = yield* Effect.orElseSucceed(
      Effect.tryPromise(() => fs.readdir(folder)),
      () => []
    )
    const ids = names.filter((name) => name.endsWith(".jsonl")).map((name) => name.slice(0, -".jsonl".length))
    // Ids sort in the order in which they were made.
    for (const id of ids.filter(isId).toSorted().toReversed()) {
      const text = yield* textOf(fileOf(folder, id))
      const [first] = Option.isSome(text) ? parse(text.value.slice(0, text.value.indexOf("\n"))) : []
      if (first?._tag === "Opened" && first.workspace === workspace) return Option.some(first.sessionId)
    }
    return Option.none()
  })

const textOf = (file: string): Effect.Effect<Option.Option<string>> =>
  Effect.option(Effect.tryPromise(() => fs.readFile(file, "utf8")))

const parse = (text: string): ReadonlyArray<SessionRecord> =>
  text.split("\n").flatMap((line) => (line === "" ? [] : Option.toArray(read(line))))
