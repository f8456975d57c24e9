import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { SpillQuota } from "../src/SpillQuota.ts"

const Step = Schema.Struct({
  who: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
  what: Schema.Literals(["take", "take", "take", "take", "giveBack", "end", "again", "release"]),
  bytes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
})

/** What should be true, as plainly as it can be said: a list in the order of age, and sums over it. */
interface Holder {
  readonly name: string
  bytes: number
  ended: boolean
}

describe("SpillQuota", () => {
  it.prop(
    "nobody holds more than they may, who goes is the oldest, and never who asks",
    [
      Schema.Array(Step).check(Schema.isMinLength(30), Schema.isMaxLength(80)),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))
    ],
    ([steps, outputBytes, totalBytes]) => {
      const quota = new SpillQuota<string>({ outputBytes, totalBytes })
      const current: Array<string | undefined> = []
      let model: Array<Holder> = []
      let made = 0
      for (const { bytes, what, who } of steps) {
        const name = (current[who] ??= `${who}.${made++}`)
        let holder = model.find((other) => other.name === name)
        if (holder === undefined) {
          holder = { name, bytes: 0, ended: false }
          model.push(holder)
          quota.begin(name)
        }
        const self = holder
        switch (what) {
          case "take": {
            const before = model
            const { granted, removed } = quota.take(name, bytes)
            if (self.ended) {
              assert.deepStrictEqual([granted, removed], [0, []])
              break
            }
            assert.strictEqual(granted, Math.max(0, Math.min(bytes, outputBytes - self.bytes, totalBytes - self.bytes)))
            self.bytes += granted
            // The oldest of those that have ended, then of those that are written; no more than needed.
            const order = [...before.filter(({ ended }) => ended), ...before.filter(({ ended }) => !ended)]
            const others = order.filter((other) => other !== self && other.bytes > 0)
            const going: Array<string> = []
            const sum = () => model.reduce((all, other) => all + (going.includes(other.name) ? 0 : other.bytes), 0)
            for (const other of others) if (sum() > totalBytes) going.push(other.name)
            assert.deepStrictEqual(removed, going)
            model = model.filter(({ name }) => !going.includes(name))
            for (const [index, name] of current.entries()) {
              if (name !== undefined && going.includes(name)) current[index] = undefined
            }
            break
          }
          case "giveBack": {
            const back = Math.min(bytes, self.bytes)
            quota.giveBack(name, back)
            if (!self.ended) self.bytes -= back
            break
          }
          case "end":
            quota.end(name)
            self.ended = true
            model = [...model.filter((other) => other !== self), self]
            // Sometimes it is still used, though it has ended.
            if (bytes > 2) current[who] = undefined
            break
          case "again": {
            const all = model.filter(({ ended }) => ended)
            const one = all[bytes % all.length]
            if (one === undefined) break
            quota.end(one.name)
            model = [...model.filter((other) => other !== one), one]
            break
          }
          case "release":
            quota.release(name)
            model = model.filter((other) => other !== self)
            current[who] = undefined
        }
        assert.strictEqual(
          quota.total,
          model.reduce((all, other) => all + other.bytes, 0)
        )
        assert.isAtMost(quota.total, totalBytes)
      }
    },
    { arbitrary: { runs: 500 } }
  )
})
