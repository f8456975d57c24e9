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
import { run } from "./rounds.ts"

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

const placeOn = (on: (typeof journals)[number], folder: string) =>
  Effect.gen(function* () {
    if (on === "file") return { on, directory: path.join(folder, "journal") } satisfies Place.Place
    const server = yield* PostgresServer.make
    return { on, folder: server.folder, schema: yield* server.schema } satisfies Place.Place
  })

const crash = (on: (typeof journals)[number]) =>
  Effect.gen(function* () {
    if (on === "postgres" && PostgresServer.absent) {
      console.log("postgres: skipped, Debian's package postgresql is not here")
      return true
    }
    const folder = yield* folderOf
    const place = yield* placeOn(on, folder)
    const begun = performance.now()
    const { breaches, figures } = yield* run({
      place,
      folder,
      rounds,
      seed,
      shared: on === "postgres",
      onRound: (round) => {
        if (process.stderr.isTTY) process.stderr.write(`\r${on}: ${round} of ${rounds} `)
      }
    })
    console.log(`${on}: ${((performance.now() - begun) / 1000).toFixed(0)} s`, figures)
    for (const breach of breaches) console.log(`${on}: ${breach}`)
    if (breaches.length === 0) console.log(`${on}: every accepted call has its one terminal.`)
    return breaches.length === 0
  }).pipe(Effect.scoped)

const well = await Effect.runPromise(Effect.forEach(chosen, crash))
process.exit(well.every((well) => well) ? 0 : 1)
