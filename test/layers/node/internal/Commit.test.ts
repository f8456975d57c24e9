import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { CommitFailed, FileUnreachable } from "../../../../src/WorkspaceFiles.ts"
import * as Workspace from "../Workspace.ts"
import * as BrokenCalls from "./BrokenCalls.ts"

const { rich } = BrokenCalls

/** Where syncing costs nothing, if there is such a place: these tests make thousands of files. */
const top = fs.existsSync("/dev/shm") ? "/dev/shm" : undefined

/** A tree and a folder for records, made anew for each try. */
const trial = (make: (root: string) => void) =>
  Effect.map(Workspace.make({}, top), ({ root, top }) => {
    make(root)
    return { root, state: path.join(top, "state"), before: BrokenCalls.snapshot(root) }
  })

/** What the tree is after a commit that nothing disturbs. */
const undisturbed = (make: (root: string) => void, wishes: ReadonlyArray<BrokenCalls.Wish>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { root, state } = yield* trial(make)
      yield* Effect.provide(BrokenCalls.fulfil(wishes), BrokenCalls.layer(root, state))
      assert.deepStrictEqual(fs.readdirSync(state), [])
      return BrokenCalls.snapshot(root)
    })
  )

/** How many calls it makes. */
const callsOf = (make: (root: string) => void, wishes: ReadonlyArray<BrokenCalls.Wish>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { root, state } = yield* trial(make)
      let count = 0
      const calls = BrokenCalls.counted(() => void count++)
      yield* Effect.provide(BrokenCalls.fulfil(wishes), BrokenCalls.layer(root, state, { calls }))
      return count
    })
  )

/** A new start: builds the layer, which ends what was broken off. */
const restart = (root: string, state: string) => Effect.provide(Effect.void, BrokenCalls.layer(root, state))

/** What it warns of is broken on purpose. */
const quietly = Effect.provideService(References.MinimumLogLevel, "None")

const isTyped = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.every(
    (reason) =>
      reason._tag === "Fail" && (reason.error instanceof CommitFailed || reason.error instanceof FileUnreachable)
  )

/** Runs the commit once for every call it makes, which `at` may break, until no call is reached any more. */
const everywhere = <A, E>(
  make: (root: string) => void,
  wishes: ReadonlyArray<BrokenCalls.Wish>,
  at: (count: number, n: number, ...call: Parameters<Parameters<typeof BrokenCalls.counted>[0]>) => void,
  check: (outcome: {
    readonly n: number
    readonly exit: Exit.Exit<unknown, unknown>
    readonly root: string
    readonly state: string
    readonly before: Record<string, string>
    readonly after: Record<string, string>
  }) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const after = yield* undisturbed(make, wishes)
    for (let n = 1, reached = true; reached; n++) {
      reached = false
      let count = 0
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { root, state, before } = yield* trial(make)
          const calls = BrokenCalls.counted((name, parameters) => {
            count++
            if (count >= n) reached = true
            at(count, n, name, parameters)
          })
          const exit = yield* Effect.provide(
            BrokenCalls.fulfil(wishes),
            BrokenCalls.layer(root, state, { calls })
          ).pipe(Effect.exit, quietly)
          yield* check({ n, exit, root, state, before, after })
        })
      )
      assert.isBelow(n, 1000)
    }
  })

const single: ReadonlyArray<BrokenCalls.Wish> = [{ write: "sub/link", bytes: "#!/bin/sh\n" }]

describe("a commit", { timeout: 60_000 }, () => {
  it.live("leaves nothing but what it was asked for", () =>
    Effect.gen(function* () {
      const after = yield* undisturbed(rich.make, rich.wishes)
      assert.deepStrictEqual(
        Object.entries(after).map(([name, what]) => `${name}: ${what.replace(/ 0 /, " ").trim()}`),
        [
          "new: 755/",
          "new/deep: 755/",
          "new/deep/file: 644 new/deep/file new",
          "new/target: 600 new/target moved",
          "one: 644 one all of them",
          "plain: 644 plain PLAIN",
          "script: 750 script #!/bin/sh",
          "sub: 755/",
          "sub/link: -> ../script",
          "sub/other: 644 one all of them"
        ]
      )
    })
  )

  for (const code of ["EACCES", "EPERM", "no code"]) {
    it.live(`C77: any one call fails with ${code}: all of it, or nothing and a declared failure`, () =>
      Effect.gen(function* () {
        for (const wishes of [rich.wishes, single]) {
          yield* everywhere(
            rich.make,
            wishes,
            (count, n) => {
              if (count === n) throw code === "no code" ? new Error("unheard of") : BrokenCalls.failure(code)
            },
            Effect.fnUntraced(function* ({ n, exit, root, state, before, after }) {
              const wanted = Exit.isSuccess(exit) ? after : before
              if (Exit.isFailure(exit)) {
                assert.isTrue(isTyped(exit), `${n}: ${Cause.pretty(exit.cause)}`)
                assert.deepStrictEqual(BrokenCalls.snapshot(root), wanted, `call ${n}`)
              }
              yield* restart(root, state)
              assert.deepStrictEqual(BrokenCalls.snapshot(root), wanted, `call ${n}, later`)
              assert.deepStrictEqual(fs.existsSync(state) ? fs.readdirSync(state) : [], [])
            })
          )
        }
      })
    )
  }

  it.live("what cannot be removed at once is removed at the second try", () =>
    Effect.gen(function* () {
      const after = yield* undisturbed(rich.make, rich.wishes)
      const { root, state } = yield* trial(rich.make)
      const tried = new Set<unknown>()
      const calls = BrokenCalls.counted((name, [file]) => {
        if (name !== "unlink" || tried.has(file)) return
        tried.add(file)
        throw BrokenCalls.failure("EIO")
      })
      yield* Effect.provide(BrokenCalls.fulfil(rich.wishes), BrokenCalls.layer(root, state, { calls }))
      assert.deepStrictEqual(BrokenCalls.snapshot(root), after)
      assert.isAbove(tried.size, rich.wishes.length)
    })
  )

  it.live("C77: the disk is full from some call on: nothing, and a declared failure", () =>
    everywhere(
      rich.make,
      rich.wishes,
      (count, n, name, [, flags]) => {
        const takesSpace =
          name === "write" ||
          name === "mkdir" ||
          name === "link" ||
          (name === "open" && Number(flags) & fs.constants.O_CREAT)
        if (count >= n && takesSpace) throw BrokenCalls.failure("ENOSPC")
      },
      Effect.fnUntraced(function* ({ n, exit, root, state, before, after }) {
        assert.isTrue(Exit.isSuccess(exit) || isTyped(exit))
        // A file that is rewritten in place may have given blocks away that it cannot get back before there is space.
        if (Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("could not be taken back")) {
          yield* restart(root, state)
        }
        assert.deepStrictEqual(BrokenCalls.snapshot(root), Exit.isSuccess(exit) ? after : before, `call ${n}`)
      })
    )
  )

  it.live("C77: nothing works any more from some call on: the next start makes it all or nothing", () =>
    Effect.gen(function* () {
      for (const wishes of [rich.wishes, single]) {
        yield* everywhere(
          rich.make,
          wishes,
          (count, n, name, parameters) => {
            if (count < n) return
            // Half of what is being written gets there.
            if (count === n && name === "write") {
              const [fd, bytes, position] = parameters as [number, Uint8Array, number]
              fs.writeSync(fd, bytes, 0, bytes.length >> 1, position)
            }
            if (name !== "close") throw BrokenCalls.failure("EIO")
          },
          Effect.fnUntraced(function* ({ n, exit, root, state, before, after }) {
            assert.isTrue(Exit.isSuccess(exit) || isTyped(exit))
            yield* restart(root, state)
            assert.deepStrictEqual(BrokenCalls.snapshot(root), Exit.isSuccess(exit) ? after : before, `call ${n}`)
            assert.deepStrictEqual(fs.existsSync(state) ? fs.readdirSync(state) : [], [])
          })
        )
      }
    })
  )

  it.live("C77: interrupted at any call: all of it, or nothing", () =>
    Effect.gen(function* () {
      const after = yield* undisturbed(rich.make, rich.wishes)
      const seen = new Set<string>()
      for (let n = 1, reached = true; reached; n++) {
        reached = false
        let count = 0
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { root, state, before } = yield* trial(rich.make)
            let interrupt = () => {}
            const calls = BrokenCalls.counted(() => {
              if (++count !== n) return
              reached = true
              interrupt()
            })
            const fiber = yield* Effect.forkChild(
              Effect.provide(BrokenCalls.fulfil(rich.wishes), BrokenCalls.layer(root, state, { calls }))
            )
            interrupt = () => fiber.interruptUnsafe()
            yield* Fiber.await(fiber)
            const now = BrokenCalls.snapshot(root)
            const isOld = JSON.stringify(now) === JSON.stringify(before)
            assert.deepStrictEqual(now, isOld ? before : after, `call ${n}`)
            assert.deepStrictEqual(fs.existsSync(state) ? fs.readdirSync(state) : [], [])
            seen.add(isOld ? "old" : "new")
          })
        )
      }
      assert.deepStrictEqual([...seen].toSorted(), ["new", "old"])
    })
  )

  it.live(
    "C77: killed at any moment, the next start makes it all or nothing",
    () =>
      Effect.gen(function* () {
        const after = yield* undisturbed(rich.make, rich.wishes)
        const seen = new Set<string>()
        const kill = (n: number) =>
          Effect.scoped(
            Effect.gen(function* () {
              const { root, state, before } = yield* trial(rich.make)
              const child = spawn(
                process.execPath,
                [path.join(import.meta.dirname, "killed.ts"), root, state, String(n)],
                { stdio: ["ignore", "ignore", "inherit"] }
              )
              const [code, signal] = yield* Effect.promise(
                () => new Promise<[number | null, string | null]>((done) => child.on("exit", (...end) => done(end)))
              )
              assert.isTrue(signal === "SIGKILL" || code === 0, `${code} ${signal}`)
              yield* restart(root, state)
              const now = BrokenCalls.snapshot(root)
              const isOld = JSON.stringify(now) === JSON.stringify(before)
              assert.deepStrictEqual(now, isOld ? before : after, `call ${n}`)
              assert.deepStrictEqual(fs.existsSync(state) ? fs.readdirSync(state) : [], [])
              seen.add(isOld ? "old" : "new")
            })
          )
        const calls = yield* callsOf(rich.make, rich.wishes)
        const moments = [0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95].map((part) => Math.floor(part * calls))
        yield* Effect.forEach([...moments, calls - 1], kill, { concurrency: 3, discard: true })
        assert.deepStrictEqual([...seen].toSorted(), ["new", "old"])
      }),
    { timeout: 60_000 }
  )

  const Name = Schema.Literals(["a", "b", "d/a", "d/b", "d/e/a"])
  const Kind = Schema.Literals(["none", "file", "two names"])
  const Plan = Schema.Struct({
    tree: Schema.Record(Name, Kind),
    changes: Schema.Record(Name, Schema.Literals(["none", "write", "delete"])),
    dies: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 220 }))
  })

  it.live.prop(
    "C77: random trees, random changes, a crash at a random call: old or new",
    { plan: Plan },
    ({ plan }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const make = (root: string) => {
            for (const [name, kind] of Object.entries(plan.tree)) {
              if (kind === "none") continue
              fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
              fs.writeFileSync(path.join(root, name), `old ${name}`)
              if (kind === "two names") fs.linkSync(path.join(root, name), path.join(root, `${name}.too`))
            }
          }
          const wishes = Object.entries(plan.changes).flatMap(([name, change]): ReadonlyArray<BrokenCalls.Wish> => {
            const isThere = plan.tree[name as keyof typeof plan.tree] !== "none"
            if (change === "write") return [{ write: name, bytes: `new ${name}`.repeat(3) }]
            return change === "delete" && isThere ? [{ delete: name }] : []
          })
          const after = yield* undisturbed(make, wishes).pipe(
            // Nothing was to be done, so no record was ever written.
            Effect.catchDefect((defect) => (wishes.length === 0 ? Effect.succeed(undefined) : Effect.die(defect)))
          )
          const { root, state, before } = yield* trial(make)
          let count = 0
          const calls = BrokenCalls.counted((name) => {
            if (++count >= plan.dies && name !== "close") throw BrokenCalls.failure("EIO")
          })
          const exit = yield* Effect.provide(
            BrokenCalls.fulfil(wishes),
            BrokenCalls.layer(root, state, { calls })
          ).pipe(Effect.exit, quietly)
          yield* restart(root, state)
          assert.deepStrictEqual(BrokenCalls.snapshot(root), Exit.isSuccess(exit) ? (after ?? before) : before)
        })
      ),
    { arbitrary: { runs: 80 }, timeout: 30_000 }
  )
})
