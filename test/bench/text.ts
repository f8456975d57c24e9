/**
 * Commands that write so many bytes of text: lines of a file that `cat` writes again and again, as fast as a pipe takes
 * them, and nothing that a reader could take for less than text.
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const fileBytes = 2 ** 26

const line = `${Array.from({ length: 99 }, (_, i) => String.fromCharCode(97 + (i % 26))).join("")}\n`

/** Until the scope closes: the command for a number of bytes. */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "bench-text-"))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
  ),
  (folder) => {
    const file = path.join(folder, "text")
    fs.writeFileSync(file, line.repeat(Math.ceil(fileBytes / line.length)).slice(0, fileBytes))
    return (bytes: number): string => {
      const whole = Array.from({ length: Math.floor(bytes / fileBytes) }, () => file)
      return [
        ...(whole.length > 0 ? [`cat ${whole.join(" ")}`] : []),
        ...(bytes % fileBytes > 0 ? [`head -c ${bytes % fileBytes} ${file}`] : [])
      ].join("; ")
    }
  }
)
