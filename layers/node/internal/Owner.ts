/**
 * Which process something on disk belongs to, and whether it is gone.
 *
 * The number of a process is given away again, and means something only within its
 * pid namespace, its boot and its host: all of them belong to the name.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import { attempt } from "./SystemCalls.ts"

/** In ms. What belongs to a process that cannot be looked at from here counts as left over after this time. */
const maxAgeMs = 3_600_000

/** For what this system does not tell. */
const unknown = "0"

const textOf = (path: string): Effect.Effect<string> =>
  Effect.orElseSucceed(
    attempt(() => fs.readFileSync(path, "utf8").trim()),
    () => ""
  )

const word = (text: string): string => text.replace(/[^A-Za-z0-9]/g, "") || unknown

const boot = Effect.map(textOf("/proc/sys/kernel/random/boot_id"), word)

const namespace = Effect.orElseSucceed(
  attempt(() => word(fs.readlinkSync("/proc/self/ns/pid"))),
  () => unknown
)

/** When it started, in ticks since the boot. Undefined if it does not run; a zombie does not. */
const startOf = Effect.fnUntraced(function* (pid: number) {
  const stat = yield* textOf(`/proc/${pid}/stat`)
  // The name, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  if (stat !== "") return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19]
  const signalled = yield* Effect.result(attempt(() => process.kill(pid, 0)))
  // Without /proc there is no start time. A process of somebody else is one.
  return signalled._tag === "Success" || signalled.failure === "EPERM" ? unknown : undefined
})

/**
 * The name of this process.
 *
 * @category constructors
 * @since 0.1.0
 */
export const current: Effect.Effect<string> = Effect.gen(function* () {
  const start = (yield* startOf(process.pid)) ?? unknown
  return [process.pid, start, yield* namespace, yield* boot, word(os.hostname())].join("-")
})

/**
 * Whether the process of that name has ended.
 *
 * @category guards
 * @since 0.1.0
 */
export const isGone = Effect.fnUntraced(function* (owner: string, ageMs: number) {
  const [pid, start, itsNamespace, itsBoot, itsHost] = owner.split("-")
  if (itsHost !== word(os.hostname())) return ageMs > maxAgeMs
  if (itsBoot !== (yield* boot)) return true
  if (itsNamespace !== (yield* namespace)) return ageMs > maxAgeMs
  return (yield* startOf(Number(pid))) !== start
})
