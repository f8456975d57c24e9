import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as ProgramPath from "../../../../layers/node/internal/ProgramPath.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "program-path-")))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

/** Folders that have a program of the name, or something that is none. */
const places = (folder: string) => {
  const script = (name: string, mode: number) => {
    fs.mkdirSync(path.join(folder, name))
    fs.writeFileSync(path.join(folder, name, "program"), `#!/bin/sh\necho "$0"\n`, { mode })
    return path.join(folder, name)
  }
  fs.mkdirSync(path.join(folder, "directory", "program"), { recursive: true })
  fs.mkdirSync(path.join(folder, "dangling"))
  fs.symlinkSync("nowhere", path.join(folder, "dangling", "program"))
  fs.mkdirSync(path.join(folder, "linked"))
  fs.symlinkSync("../one/program", path.join(folder, "linked", "program"))
  return [
    script("one", 0o755),
    script("two", 0o755),
    script("not", 0o644),
    path.join(folder, "linked"),
    path.join(folder, "directory"),
    path.join(folder, "dangling"),
    path.join(folder, "missing"),
    path.join(folder, "one", "program"),
    "two"
  ]
}

describe("ProgramPath", () => {
  it.effect("finds what the system would run", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const all = places(folder)
      for (const first of all) {
        for (const second of all) {
          const searchPath = `${first}:${second}`
          const { status, stdout } = child_process.spawnSync("program", {
            cwd: folder,
            env: { PATH: searchPath },
            encoding: "utf8"
          })
          const run = status === null ? undefined : path.resolve(folder, stdout.trim())
          assert.strictEqual(ProgramPath.find("program", folder, searchPath), run, searchPath)
        }
      }
    })
  )

  it.effect("remembers where it was for as long as it is there, but nothing of a relative folder", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const [one = "", two = ""] = places(folder)
      const searchPath = `${path.join(folder, "missing")}:${one}:${two}`
      const find = () => ProgramPath.find("program", folder, searchPath)
      assert.strictEqual(find(), path.join(one, "program"))
      fs.chmodSync(path.join(one, "program"), 0o644)
      assert.strictEqual(find(), path.join(two, "program"))
      fs.rmSync(path.join(two, "program"))
      assert.isUndefined(find())
      fs.chmodSync(path.join(one, "program"), 0o755)
      assert.strictEqual(find(), path.join(one, "program"))
      for (const cwd of [one, folder]) {
        assert.strictEqual(ProgramPath.find("program", cwd, `.:${one}`), path.join(one, "program"))
      }
      assert.strictEqual(
        ProgramPath.find("program", path.join(folder, "linked"), `.:${one}`),
        path.join(folder, "linked", "program")
      )
    })
  )

  it.effect("what is named with its folder is looked for there alone", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const [one] = places(folder)
      assert.strictEqual(ProgramPath.find("./one/program", folder, undefined), path.join(folder, "one", "program"))
      assert.isUndefined(ProgramPath.find("./program", folder, one))
      assert.isDefined(ProgramPath.find("sh", "/", undefined), "in the usual places")
    })
  )
})
