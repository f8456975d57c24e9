/**
 * Locks that a process which has ended does not hold, as files that are numbered.
 *
 * **Details**
 *
 * - `NAME.lock.N` says which process made it, and whether it still holds it. It is a
 *   second name of a file that was written before: nobody sees half of one, and of two
 *   that make the same number one is told that it exists.
 * - Whoever finds all of them given up, or their processes ended, makes the next number,
 *   and looks again: it has the lock if its own is there, the highest, and all others are
 *   still dead. Of two that make a number, whatever they saw before, the later one sees
 *   that of the other: both never have it.
 * - The holder removes lower numbers. Its own it marks as given up, in place, by one byte:
 *   the highest number is never gone while somebody may be about to make the next one.
 *   Only with all that the lock is for it is removed as well, after all lower ones.
 * - A process of another pid namespace or another host counts as running: nothing is known
 *   of it. An operator who knows more removes the file.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Left, type Lock, Locked, StorageError } from "../../journal/Storage.ts"
import * as Owner from "./Owner.ts"
import { attempt, type Errno } from "./SystemCalls.ts"

/** Looks in vain, when others came and went between two of them. Each needs another process in the right microsecond. */
const maxAttempts = 100

/** What is in one. The state is its first byte, so that it can be written over. */
const letters = { held: "h", clean: "c", open: "o" } as const
type State = keyof typeof letters

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ owner: Schema.String })))

/** One that is being made. No session has a name like this. */
const making = "%new.lock."

interface Numbered {
  readonly number: number
  readonly state: State
  readonly owner: string
}

const nameOf = (name: string, number: number): string => `${name}.lock.${number}`

const numbersOf = (folder: string, name: string): Effect.Effect<ReadonlyArray<number>, Errno> =>
  Effect.map(
    attempt(() => fs.readdirSync(folder)),
    (names) =>
      names
        .flatMap((file) => {
          const digits = file.startsWith(`${name}.lock.`) ? file.slice(name.length + 6) : ""
          return /^\d+$/.test(digits) ? [Number(digits)] : []
        })
        .toSorted((a, b) => a - b)
  )

/** Undefined, if it is not there any more. One that is not whole is of a machine that lost power. */
const read = (folder: string, name: string, number: number): Effect.Effect<Numbered | undefined, Errno> =>
  attempt(() => fs.readFileSync(path.join(folder, nameOf(name, number)), "utf8")).pipe(
    Effect.map((text): Numbered => ({
      number,
      state: text[0] === letters.clean ? "clean" : text[0] === letters.held ? "held" : "open",
      owner: Option.getOrElse(decode(text.slice(1)), () => ({ owner: "" })).owner
    })),
    Effect.catch((code) => (code === "ENOENT" ? Effect.succeed(undefined) : Effect.fail(code)))
  )

const isAlive = ({ owner, state }: Numbered): Effect.Effect<boolean> =>
  state !== "held" || owner === "" ? Effect.succeed(false) : Effect.map(Owner.isGone(owner, 0), (gone) => !gone)

const toStorageError =
  (folder: string) =>
  (code: Errno): StorageError =>
    new StorageError({ code, doing: `locking a session in ${folder}` })

/**
 * Takes the lock of a name, or says who has it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const take = (folder: string, name: string): Effect.Effect<Lock, StorageError | Locked> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      const owner = yield* Owner.current
      const temporary = path.join(folder, `${making}${owner}.${randomUUID()}`)
      yield* attempt(() =>
        fs.writeFileSync(temporary, letters.held + JSON.stringify({ owner }), { flag: "wx", mode: 0o600 })
      )
      const taken = yield* Effect.ensuring(attempts(folder, name, temporary), unlink(temporary))
      yield* Effect.forEach(taken.lower, (number) => unlink(path.join(folder, nameOf(name, number))), { discard: true })
      yield* tidy(folder)
      return lockOf(folder, name, taken.number)
    }).pipe(Effect.mapError((error) => (typeof error === "string" ? toStorageError(folder)(error) : error)))
  )

interface Taken {
  readonly number: number
  readonly lower: ReadonlyArray<number>
}

const attempts = Effect.fnUntraced(function* (folder: string, name: string, temporary: string) {
  for (let attempted = 0; attempted < maxAttempts; attempted++) {
    const taken = yield* once(folder, name, temporary)
    if (taken !== undefined) return taken
    // In case the other one gives up as well.
    yield* Effect.sleep(Math.random() * 5)
  }
  return yield* new Locked({ file: path.join(folder, `${name}.lock.*`) })
})

/** Undefined, if somebody came in between. */
const once = Effect.fnUntraced(function* (folder: string, name: string, temporary: string) {
  const before = yield* numbersOf(folder, name)
  const refused = yield* living(folder, name, before)
  if (refused !== undefined) return yield* new Locked({ file: path.join(folder, nameOf(name, refused)) })
  const number = (before.at(-1) ?? 0) + 1
  const file = path.join(folder, nameOf(name, number))
  const made = yield* attempt(() => fs.linkSync(temporary, file)).pipe(
    Effect.as(true),
    Effect.catch((code) => (code === "EEXIST" ? Effect.succeed(false) : Effect.fail(code)))
  )
  if (!made) return undefined
  const after = yield* numbersOf(folder, name)
  const others = after.filter((other) => other !== number)
  const isMine = after.at(-1) === number && (yield* living(folder, name, others)) === undefined
  if (!isMine) {
    yield* unlink(file)
    return undefined
  }
  return { number, lower: others } satisfies Taken
})

/** The first one whose process runs. */
const living = Effect.fnUntraced(function* (folder: string, name: string, numbers: ReadonlyArray<number>) {
  for (const number of numbers) {
    const one = yield* read(folder, name, number)
    if (one !== undefined && (yield* isAlive(one))) return number
  }
  return undefined
})

const unlink = (file: string): Effect.Effect<void> => Effect.ignore(attempt(() => fs.unlinkSync(file)))

/** Removes what those left that ended while they asked. */
const tidy = Effect.fnUntraced(function* (folder: string) {
  const names = yield* Effect.orElseSucceed(
    attempt(() => fs.readdirSync(folder)),
    (): ReadonlyArray<string> => []
  )
  for (const file of names) {
    const owner = file.startsWith(making) ? file.slice(making.length).split(".")[0] : undefined
    if (owner !== undefined && (yield* Owner.isGone(owner, 0))) yield* unlink(path.join(folder, file))
  }
})

const lockOf = (folder: string, name: string, number: number): Lock => {
  const file = path.join(folder, nameOf(name, number))
  return {
    release: (left) =>
      Effect.catch(
        attempt(() => {
          const fd = fs.openSync(file, "r+")
          try {
            fs.writeSync(fd, letters[left], 0)
          } finally {
            fs.closeSync(fd)
          }
        }),
        // It ends with the process, at the latest.
        (code) => Effect.logWarning(`the lock ${file} is held until this process ends: ${code}`)
      ),
    remove: () => unlink(file)
  }
}

/**
 * How its last holder left it. Undefined, if that runs, or has ended without a word.
 *
 * @category getters
 * @since 0.1.0
 */
export const left = (folder: string, name: string): Effect.Effect<Left | undefined, StorageError> =>
  Effect.gen(function* () {
    const last = (yield* numbersOf(folder, name)).at(-1)
    const one = last === undefined ? undefined : yield* read(folder, name, last)
    return one === undefined || one.state === "held" ? undefined : one.state
  }).pipe(Effect.mapError(toStorageError(folder)))
