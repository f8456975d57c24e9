import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as TrustFile from "../../../layers/node/TrustFile.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "trust-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

describe("TrustFile", () => {
  it.effect("keeps whom the user trusts with what, in a file that only its user reads", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "below", "trust.json")
      const trust = Effect.map(TrustFile.read(file), (trust) => Object.fromEntries(trust))
      assert.deepStrictEqual(yield* trust, {})
      yield* TrustFile.set(file, { path: "/a", hash: "1" })
      yield* TrustFile.set(file, { path: "/b", hash: "2" })
      yield* TrustFile.set(file, { path: "/a", hash: "3" })
      assert.deepStrictEqual(yield* trust, { "/a": "3", "/b": "2" })
      yield* TrustFile.set(file, { path: "/a", hash: undefined })
      assert.deepStrictEqual(yield* trust, { "/b": "2" })
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
      assert.deepStrictEqual(fs.readdirSync(path.dirname(file)), ["trust.json"])
    })
  )

  it.effect("what cannot be read trusts nothing, and what cannot be written says so", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const file = path.join(at, "trust.json")
      for (const text of ["", "{", '{"/a": 1}', '["/a"]']) {
        fs.writeFileSync(file, text)
        assert.strictEqual((yield* TrustFile.read(file)).size, 0, text)
      }
      const failure = yield* Effect.flip(TrustFile.set(path.join(file, "x.json"), { path: "/a", hash: "1" }))
      assert.match(failure.message, /x\.json cannot be written: /)
    })
  )
})
