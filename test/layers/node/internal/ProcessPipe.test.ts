import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { PassThrough } from "node:stream"
import { ProcessPipe } from "../../../../layers/node/internal/ProcessPipe.ts"

/** A turn of the event loop in which input is asked for. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))

const command = (script: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

/**
 * Reads a pipe to its end. A chunk is released on the spot, or, if `isSlow` says so, some turns later. Gives a copy of
 * each, the memory it was in, and whether it was still the same when it was released.
 */
const read = (
  pipe: (changed: () => void, give: (bytes: Uint8Array) => boolean) => ProcessPipe,
  isSlow: (chunk: number) => boolean
) =>
  Effect.promise(
    () =>
      new Promise<{ chunks: Array<Buffer>; memory: Set<ArrayBufferLike>; isIntact: boolean }>((resolve) => {
        const chunks: Array<Buffer> = []
        const memory = new Set<ArrayBufferLike>()
        let isIntact = true
        let isHeld = false
        const see = (bytes: Uint8Array): void => {
          const copy = Buffer.from(bytes)
          memory.add(bytes.buffer)
          const done = () => {
            isIntact &&= copy.equals(bytes)
            reader.release()
          }
          if (isSlow(chunks.push(copy))) {
            isHeld = true
            void Effect.runPromise(Effect.andThen(turn, turn)).then(() => {
              done()
              isHeld = false
              take()
            })
          } else done()
        }
        const mayTake = () => !isHeld && !reader.isEmpty
        const take = (): void => {
          while (mayTake()) see(reader.take()!)
          if (reader.ended && reader.isEmpty && !isHeld) resolve({ chunks, memory, isIntact })
        }
        const give = (bytes: Uint8Array): boolean => {
          if (isHeld) return false
          see(bytes)
          return true
        }
        const reader: ProcessPipe = pipe(() => take(), give)
      })
  )

/** Some 2 MB, of which no two places are alike. */
const lines = 300_000
const numbers = Array.from({ length: lines }, (_, i) => `${i + 1}\n`).join("")

describe("ProcessPipe", () => {
  it.live("a reader that keeps up is given the same memory again and again", () =>
    Effect.gen(function* () {
      const child = yield* command(`seq 1 ${lines}`)
      const { chunks, memory } = yield* read(
        (changed) => new ProcessPipe(child.stdout, changed),
        () => false
      )
      assert.strictEqual(Buffer.concat(chunks).toString(), numbers)
      assert.isAbove(chunks.length, 10)
      assert.isAtMost(memory.size, 3)
    })
  )

  const ways = [1, 2, 3, 7].flatMap((every) => [
    { every, isGiven: false },
    { every, isGiven: true }
  ])
  for (const { every, isGiven } of ways) {
    const how = isGiven ? "given" : "taken"
    it.live(`C05: nothing is lost, and what is held is not overwritten, if each ${every}. is held that is ${how}`, () =>
      Effect.gen(function* () {
        const child = yield* command(`seq 1 ${lines}`)
        const { chunks, isIntact } = yield* read(
          (changed, give) => new ProcessPipe(child.stdout, changed, isGiven ? give : undefined),
          (chunk) => chunk % every === 0
        )
        assert.isTrue(isIntact)
        assert.strictEqual(Buffer.concat(chunks).toString(), numbers)
      })
    )
  }

  for (const kept of [0, 50]) {
    it.live(`C12: a reader that stops after ${kept} chunks blocks the process`, () =>
      Effect.gen(function* () {
        const child = yield* command("exec cat /dev/zero 2> /dev/null")
        const taken: Array<number> = []
        const pipe: ProcessPipe = new ProcessPipe(child.stdout, () => {
          if (taken.length === kept) return
          taken.push(pipe.take()!.length)
          pipe.release()
        })
        const written = () => Number(/^wchar: (\d+)$/m.exec(fs.readFileSync(`/proc/${child.pid}/io`, "utf8"))?.[1])
        // Never, if it is not held up.
        let before = -1
        while (taken.length < kept || before !== written()) {
          before = written()
          yield* Effect.sleep(100)
        }
        const read = taken.reduce((sum, length) => sum + length, 0)
        // Two chunks that wait, and what a socket holds.
        assert.isBelow(before - read, 1024 * 1024)
        pipe.close()
      })
    )
  }

  it.live("what ends while a chunk is held has ended when it is released", () =>
    Effect.gen(function* () {
      const child = yield* command("seq 1 30000; sleep 0.1; echo one; sleep 0.1; printf last")
      const exited = once(child, "exit")
      const { chunks } = yield* read(
        (changed) => new ProcessPipe(child.stdout, changed),
        (chunk) => chunk > 2
      )
      yield* Effect.promise(() => exited)
      assert.isTrue(Buffer.concat(chunks).toString().endsWith("30000\none\nlast"))
    })
  )

  for (const later of [false, true]) {
    it.live(`discards what comes, and hears the end, though a chunk is held${later ? " for long" : ""}`, () =>
      Effect.gen(function* () {
        const child = yield* command(`seq 1 ${lines}`)
        const ended = yield* Effect.promise(
          () =>
            new Promise<boolean>((resolve) => {
              let chunks = 0
              const pipe: ProcessPipe = new ProcessPipe(child.stdout, () => {
                if (pipe.ended) return resolve(true)
                chunks++
                if (chunks <= 5) pipe.take()
                if (chunks < 5) pipe.release()
                if (chunks !== 5) return
                if (later) void Effect.runPromise(turn).then(() => pipe.discard())
                else pipe.discard()
              })
            })
        )
        assert.isTrue(ended)
      })
    )
  }

  it.live("where there is no handle to be had it goes on as it began", () =>
    Effect.gen(function* () {
      const source = new PassThrough()
      const all = read(
        (changed) => new ProcessPipe(source, changed),
        (chunk) => chunk % 3 === 0
      )
      for (let at = 0; at < numbers.length; at += 65_536) source.write(numbers.slice(at, at + 65_536))
      source.end()
      const { chunks, isIntact } = yield* all
      assert.isTrue(isIntact)
      assert.strictEqual(Buffer.concat(chunks).toString(), numbers)
    })
  )
})
