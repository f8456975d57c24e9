import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as MemoryJournal from "../../../layers/journal/MemoryJournal.ts"
import * as JournalCheck from "../../../layers/testing/JournalCheck.ts"

describe("MemoryJournal", () => {
  for (const progress of ["watermark", "full"] as const) {
    it.live(`keeps the contract of journals, progress: ${progress}`, () =>
      Effect.gen(function* () {
        const { open } = yield* MemoryJournal.make({ progress })
        const report = yield* JournalCheck.check({ open, shared: true }, { rounds: 100 })
        assert.isAbove(report.claimed, 100)
      })
    )
  }
})
