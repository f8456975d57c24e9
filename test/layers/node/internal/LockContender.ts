/**
 * A process that wants a lock again and again. While it holds it, it holds a file that nobody else may: `O_EXCL` tells.
 * `node LockContender.ts FOLDER NAME SEED`. It is killed, or it ends when a file `stop` is there.
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as LockFiles from "../../../../layers/node/internal/LockFiles.ts"

const [folder = "", name = "", seed = "1"] = process.argv.slice(2)
const witness = path.join(folder, "witness")
const log = path.join(folder, "log")
let random = Number(seed)
const draw = (below: number) => ((random = Math.imul(random, 1103515245) + 12345) >>> 16) % below

const say = (text: string) => fs.appendFileSync(log, `${text}\n`)

const hold = Effect.gen(function* () {
  const lock = yield* LockFiles.take(folder, name)
  // Whoever was killed with it left its witness: it is dead, or this is the breach that the test looks for.
  const before = fs.existsSync(witness) ? fs.readFileSync(witness, "utf8") : ""
  if (before !== "" && isAlive(before)) say(`both ${process.pid} and ${before}`)
  fs.writeFileSync(witness, `${process.pid} ${startOf(process.pid)}`)
  say("held")
  yield* Effect.sleep(draw(3))
  const after = fs.readFileSync(witness, "utf8")
  if (after !== `${process.pid} ${startOf(process.pid)}`) say(`both ${process.pid} and ${after}`)
  if (draw(25) === 0) process.kill(process.pid, "SIGKILL")
  fs.writeFileSync(witness, "")
  yield* draw(5) === 0 ? lock.remove() : lock.release(draw(2) === 0 ? "clean" : "open")
}).pipe(Effect.catchTag("Locked", () => Effect.sleep(draw(2))))

function startOf(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return fields[0] === "Z" ? "" : (fields[19] ?? "")
  } catch {
    return ""
  }
}

function isAlive(text: string): boolean {
  const [pid, start] = text.split(" ")
  return startOf(Number(pid)) === start
}

await Effect.runPromise(
  Effect.whileLoop({ while: () => !fs.existsSync(path.join(folder, "stop")), body: () => hold, step: () => {} })
)
