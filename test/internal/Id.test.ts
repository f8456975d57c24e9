import { assert, describe, it } from "@effect/vitest"
import * as Id from "../../src/internal/Id.ts"

describe("Id", () => {
  it("is a UUID of version 7 with the time of its making", () => {
    const before = Date.now()
    const id = Id.make()
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    assert.isAtLeast(time, before)
    assert.isAtMost(time, Date.now() + 1)
  })

  it("is another each time, and sorts in the order of the making, however fast", () => {
    const ids = Array.from({ length: 200_000 }, () => Id.make())
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.deepStrictEqual(ids, ids.toSorted())
  })
})
