/**
 * Claims what is open in a journal, and says how long that took and how much memory. `node journal-open.ts FOLDER OPEN`
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as FileJournal from "../../layers/node/FileJournal.ts"

const [directory = "", open = "0"] = process.argv.slice(2)

const start = performance.now()
const claimed = await Effect.runPromise(
  Effect.scoped(Effect.flatMap(FileJournal.make({ directory }), ({ claim }) => claim))
)
const ms = performance.now() - start
if (claimed.length !== Number(open)) throw new Error(`${claimed.length} of ${open} calls are open`)
const rssBytes = process.resourceUsage().maxRSS * 1024

const bareStart = performance.now()
const piece = new Uint8Array(512 * 1024)
for (const name of fs.readdirSync(directory)) {
  const fd = fs.openSync(path.join(directory, name), "r")
  while (fs.readSync(fd, piece) > 0);
  fs.closeSync(fd)
}
process.stdout.write(JSON.stringify({ ms, bareMs: performance.now() - bareStart, rssBytes }))
