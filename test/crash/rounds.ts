/**
 * Rounds of a crash run: a process recovers what was left and makes calls, and is killed; afterwards what is known of
 * every call is judged.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as readline from "node:readline"
import { Records } from "../../src/Journal.ts"
import * as ToolEvent from "../../src/ToolEvent.ts"
import type { Arguments } from "./child.ts"
import * as Place from "./place.ts"
import { breaches, endingOf, type Known, type Line, type Name } from "./report.ts"

export interface Figures {
  readonly rounds: number
  readonly killed: { readonly whileItRecovered: number; readonly whileItRan: number }
  readonly calls: number
  readonly accepted: number
  /** Terminals that a reader saw before the crash. */
  readonly seen: number
  readonly recovered: number
  /** Of these, calls that were made again. */
  readonly again: number
  readonly endings: Readonly<Record<string, number>>
  /** Calls of each tool by how often it did what it does. */
  readonly effects: Readonly<Record<Name, Readonly<Record<number, number>>>>
}

/** Of two runs together. */
export const sum = (a: Figures, b: Figures): Figures => ({
  rounds: a.rounds + b.rounds,
  killed: {
    whileItRecovered: a.killed.whileItRecovered + b.killed.whileItRecovered,
    whileItRan: a.killed.whileItRan + b.killed.whileItRan
  },
  calls: a.calls + b.calls,
  accepted: a.accepted + b.accepted,
  seen: a.seen + b.seen,
  recovered: a.recovered + b.recovered,
  again: a.again + b.again,
  endings: added(a.endings, b.endings),
  effects: {
    append: added(a.effects.append, b.effects.append),
    put: added(a.effects.put, b.effects.put),
    look: added(a.effects.look, b.effects.look)
  }
})

const added = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted().map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)])
  )

/** What is known of a call while it may still change. */
interface Call {
  readonly tool: Name
  readonly round: number
  begun: number
  seen?: string
  kept?: ReadonlyArray<string>
}

/** When a process is killed: so long after it said that. */
interface Kill {
  readonly after: "Opened" | "Ready"
  readonly ms: number
}

/** Calls at a time, in each process. */
const atOnce = 8

/** Longer is a process that hangs, in ms. */
const patienceMs = 60_000

const below = (n: number) => Random.nextIntBetween(0, n, { halfOpen: true })

/** While it recovers, or while it makes calls. */
const killing = (early: boolean): Effect.Effect<Kill> =>
  early
    ? Effect.map(below(60), (ms) => ({ after: "Opened", ms }))
    : Effect.map(below(400), (ms) => ({ after: "Ready", ms }))

export const run = (options: {
  readonly place: Place.Place
  readonly folder: string
  readonly rounds: number
  readonly seed: number
  /** Whether processes share the journal. */
  readonly shared: boolean
  /** Told from time to time. */
  readonly onRound?: ((round: number) => void) | undefined
}): Effect.Effect<{ readonly figures: Figures; readonly breaches: ReadonlyArray<string> }, unknown> =>
  Effect.gen(function* () {
    const { folder, place, rounds, seed, shared } = options
    const effects = path.join(folder, "effects")
    const calls = new Map<string, Call>()
    const broken: Array<string> = []
    const killed = { whileItRecovered: 0, whileItRan: 0 }
    let recovered = 0
    let again = 0

    const hear = (round: number, line: Line) => {
      switch (line._tag) {
        case "Made":
          calls.set(line.callId, { tool: line.tool, round, begun: 0 })
          break
        case "Begun":
          calls.get(line.callId)!.begun++
          break
        case "Seen":
          calls.get(line.callId)!.seen = line.terminal
          break
        case "Ready":
          recovered += line.recovered
          again += line.again
          break
        case "Opened":
      }
    }

    /** Whether it came so far that it had recovered. */
    const process_ = (
      round: number,
      index: number,
      kill: Kill | undefined
    ): Effect.Effect<boolean, Error, Scope.Scope> =>
      Effect.gen(function* () {
        const args: Arguments = {
          place,
          effects,
          seed: seed * 1_000_003 + round * 10 + index,
          atOnce: kill === undefined ? 0 : atOnce
        }
        const child = yield* started(args)
        let ready = false
        const lines = readline.createInterface({ input: child.stdout! })
        const said = new Map<Line["_tag"], () => void>()
        lines.on("line", (text) => {
          const line = JSON.parse(text) as Line
          if (line._tag === "Ready") ready = true
          hear(round, line)
          said.get(line._tag)?.()
        })
        const ended = Effect.callback<void>((resume) => void lines.on("close", () => resume(Effect.void)))
        const waiting = yield* Effect.forkChild(ended, { startImmediately: true })
        if (kill !== undefined) {
          const moment = Effect.callback<void>((resume) => void said.set(kill.after, () => resume(Effect.void)))
          const ended = Effect.andThen(
            Fiber.join(waiting),
            Effect.fail(new Error(`round ${round}: it ended by itself`))
          )
          yield* Effect.raceFirst(Effect.andThen(within(moment, `round ${round}`), Effect.sleep(kill.ms)), ended)
          child.kill("SIGKILL")
          killed[ready ? "whileItRan" : "whileItRecovered"]++
        }
        yield* within(Fiber.join(waiting), `round ${round}`)
        yield* exited(child)
        if (kill === undefined && child.exitCode !== 0) {
          return yield* Effect.fail(
            new Error(`round ${round}: recovery ended with ${child.exitCode ?? child.signalCode}`)
          )
        }
        return ready
      })

    /** What the journal has of the calls of rounds before this one, or of all. */
    const judge = (before: number) =>
      Effect.gen(function* () {
        const records = yield* Records
        const ran = new Map<string, number>()
        if (fs.existsSync(effects)) {
          for (const line of fs.readFileSync(effects, "utf8").split("\n")) ran.set(line, (ran.get(line) ?? 0) + 1)
        }
        for (const [callId, call] of calls) {
          if (call.round >= before || (call.kept !== undefined && before !== Infinity)) continue
          const kept = yield* terminalsOf(records, callId)
          const known: Known = {
            callId,
            begun: call.begun,
            tool: call.tool,
            seen: call.seen,
            kept,
            effects: ran.get(`${call.tool} ${callId}`) ?? 0
          }
          if (call.kept !== undefined && JSON.stringify(call.kept) !== JSON.stringify(kept)) {
            broken.push(`${callId}: its terminal has changed`)
          }
          if (kept !== undefined) call.kept = kept
          broken.push(...breaches(known))
        }
        return ran
      }).pipe(Effect.provide(Place.layer(place)))

    // A call that was broken off twice while it was made again would be given up.
    let mayDieEarly: boolean = true
    for (let round = 0; round < rounds; round++) {
      const early: boolean = mayDieEarly && round > 0 && (yield* below(3)) === 0
      const processes = shared && !early && (yield* below(3)) === 0 ? 2 : 1
      const kills: ReadonlyArray<Kill> = yield* Effect.replicateEffect(killing(early), processes)
      const ready: ReadonlyArray<boolean> = yield* Effect.scoped(
        Effect.forEach(kills, (kill, index) => process_(round, index, kill), { concurrency: "unbounded" })
      )
      mayDieEarly = ready.every((ready) => ready)
      if (mayDieEarly && round % 20 === 19) yield* judge(round)
      options.onRound?.(round + 1)
      if (broken.length > 0) break
    }
    yield* Effect.scoped(process_(rounds, 0, undefined))
    const ran = yield* judge(Infinity)
    yield* Effect.provide(nothingOpen, Place.layer(place)).pipe(
      Effect.tap((open) => Effect.sync(() => void broken.push(...open)))
    )

    const all = [...calls]
    const accepted = all.filter(([, { kept }]) => kept !== undefined)
    return {
      breaches: [...new Set(broken)],
      figures: {
        rounds,
        killed,
        calls: all.length,
        accepted: accepted.length,
        seen: all.filter(([, { seen }]) => seen !== undefined).length,
        recovered,
        again,
        endings: count(accepted.map(([, { kept }]) => (kept?.[0] === undefined ? "none" : endingOf(kept[0])))),
        effects: {
          append: effectsOf("append", all, ran),
          put: effectsOf("put", all, ran),
          look: effectsOf("look", all, ran)
        }
      }
    }
  }).pipe(Random.withSeed(options.seed))

const effectsOf = (tool: Name, calls: ReadonlyArray<readonly [string, Call]>, ran: ReadonlyMap<string, number>) =>
  count(calls.filter(([, call]) => call.tool === tool).map(([callId]) => ran.get(`${tool} ${callId}`) ?? 0))

const count = <K extends string | number>(keys: ReadonlyArray<K>): Record<K, number> => {
  const counts = new Map<K, number>()
  for (const key of keys.toSorted()) counts.set(key, (counts.get(key) ?? 0) + 1)
  return Object.fromEntries(counts) as Record<K, number>
}

/** Undefined if there is no such call. One that is open has none. */
const terminalsOf = (records: Records["Service"], callId: string) =>
  records.events(callId).pipe(
    Stream.filter((event) => event._tag === "Terminal"),
    Stream.map((terminal) => JSON.stringify(ToolEvent.toJson(terminal))),
    Stream.runCollect,
    Effect.timeoutOption(5_000),
    Effect.map((found) => (found._tag === "None" ? [] : found.value)),
    Effect.catchIf(
      (error) => error._tag === "JournalError" && error.reason === "Unknown",
      () => Effect.succeed(undefined)
    )
  )

const nothingOpen = Effect.gen(function* () {
  const open = yield* (yield* Records).claim
  return open.map(({ accepted }) => `${accepted.call.callId}: it is open after recovery`)
})

const within = <A, E>(effect: Effect.Effect<A, E>, what: string) =>
  Effect.timeoutOrElse(effect, {
    duration: patienceMs,
    orElse: () => Effect.fail(new Error(`${what}: the process hangs`))
  })

const started = (args: Arguments) =>
  Effect.acquireRelease(
    Effect.sync((): ChildProcess => {
      const program = path.join(import.meta.dirname, "child.ts")
      return spawn(process.execPath, [program, JSON.stringify(args)], {
        stdio: ["pipe", "pipe", "inherit"],
        // Each of them would compile everything anew.
        env: { ...process.env, NODE_COMPILE_CACHE: path.join(path.dirname(args.effects), "compiled") }
      })
    }),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  )

const exited = (child: ChildProcess) =>
  Effect.callback<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.on("exit", () => resume(Effect.void))
  })
