import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ripgrep from "../layers/node/Ripgrep.ts"
import * as W from "../layers/node/WorkspaceFiles.ts"
import * as Session from "../src/Session.ts"
import * as ToolStream from "../src/ToolStream.ts"
import * as Grep from "../tools/Grep.ts"
import * as fs from "node:fs"
import { spawn } from "node:child_process"
import { rgPath } from "@vscode/ripgrep"
const top = "/tmp/gtree"
if (!fs.existsSync(top)) {
  let n = 0
  for (let f = 0; f < 800; f++) {
    fs.mkdirSync(`${top}/tree/d${f % 40}`, { recursive: true })
    fs.writeFileSync(
      `${top}/tree/d${f % 40}/f${f}.txt`,
      Array.from({ length: 3600 }, () => {
        n++
        return `${String(n).padStart(8, "0")} The quick brown fox ${n % 997 === 0 ? "needle" : "jumps"} over the lazy dog, and so on and on.\n`
      }).join("")
    )
  }
}
const run = (p: string, ...a: string[]) =>
  new Promise<void>((r) => {
    spawn(p, a, { stdio: "ignore" }).on("exit", () => r())
  })
const prog = Effect.gen(function* () {
  const { execute } = yield* Grep.Grep
  const A: number[] = [],
    B: number[] = [],
    C: number[] = [],
    D: number[] = []
  for (let i = 0; i < 25; i++) {
    let t = performance.now()
    yield* ToolStream.runResult(execute({ pattern: "needle", path: "tree" }))
    A.push(performance.now() - t)
    t = performance.now()
    yield* Effect.promise(() => run(rgPath, "--json", "needle", top + "/tree"))
    B.push(performance.now() - t)
    t = performance.now()
    yield* Effect.promise(() =>
      run(rgPath, "--json", "--binary", "--crlf", "--hidden", "--no-require-git", "needle", top + "/tree")
    )
    C.push(performance.now() - t)
    t = performance.now()
    yield* Effect.promise(() => run(rgPath, "--files", "--null", top + "/tree"))
    D.push(performance.now() - t)
  }
  const m = (x: number[]) => x.sort((a, b) => a - b)[x.length >> 1]!.toFixed(1)
  console.log("ours", m(A), "rg", m(B), "rg opts", m(C), "rg files", m(D))
}).pipe(
  Effect.provide(
    Layer.provideMerge(
      Layer.provide(Grep.layer, Layer.merge(Ripgrep.layer, W.layer)),
      Session.layer({ workspace: top })
    )
  )
)
await Effect.runPromise(prog)
