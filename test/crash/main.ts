/**
 * Kills processes that make calls, and looks whether every call has its one terminal. `npm run crash -- --help`
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import * as PostgresServer from "../PostgresServer.ts"
import type * as Place from "./place.ts"
import { type Figures, run, sum } from "./rounds.ts"

const help = `npm run crash -- [--on JOURNAL] [--rounds N] [--seed S]

  --on JOURNAL  file or postgres (both, one after the other)
  --rounds N    how often a process is killed, with each journal (300)
  --seed S      of the calls, and of when processes die (1)

Exits 1 if after recovery an accepted call has not exactly one terminal, if a tool that is not idempotent ran twice, if one
that is idempotent was started and never ran to its end, or if a terminal is not the one that a reader saw before.
`

const { values } = parseArgs({
  options: {
    on: { type: "string" },
    rounds: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", default: false }
  }
})
if (values.help) {
  process.stdout.write(help)
  process.exit(0)
}
const journals = ["file", "postgres"] as const
const chosen = journals.filter((journal) => values.on === undefined || values.on === journal)
const [rounds, seed] = [Number(values.rounds), Number(values.seed)]
if (chosen.length === 0 || !Number.isSafeInteger(rounds) || rounds < 1 || !Number.isSafeInteger(seed)) {
  console.error(help)
  process.exit(2)
}

const folderOf = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "crash-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

/** Rounds on one journal. Where a call is looked for in files, all of them are read. */
const longest = 25

const crash = (on: (typeof journals)[number]) =>
  Effect.gen(function* () {
    if (on === "postgres" && PostgresServer.absent) {
      console.log("postgres: skipped, Debian's package postgresql is not here")
      return true
    }
    const server = on === "postgres" ? yield* PostgresServer.make : undefined
    const begun = performance.now()
    const all: Array<Figures> = []
    const broken: Array<string> = []
    for (let done = 0; done < rounds && broken.length === 0; done += longest) {
      const folder = yield* folderOf
      const place: Place.Place =
        server === undefined
          ? { on: "file", directory: path.join(folder, "journal") }
          : { on: "postgres", folder: server.folder, schema: yield* server.schema }
      const { breaches, figures } = yield* run({
        place,
        folder,
        rounds: Math.min(longest, rounds - done),
        seed: seed * 1_000 + done,
        shared: on === "postgres",
        onRound: (round) => {
          if (process.stderr.isTTY) process.stderr.write(`\r${on}: ${done + round} of ${rounds} `)
        }
      })
      all.push(figures)
      broken.push(...breaches)
    }
    console.log(`${on}: ${((performance.now() - begun) / 1000).toFixed(0)} s`, all.reduce(sum))
    for (const breach of broken) console.log(`${on}: ${breach}`)
    if (broken.length === 0) console.log(`${on}: every accepted call has its one terminal.`)
    return broken.length === 0
  }).pipe(Effect.scoped)

const well = await Effect.runPromise(Effect.forEach(chosen, crash))
process.exit(well.every((well) => well) ? 0 : 1)
