/**
 * Bash itself, in a folder of its own, with programs that do nothing but write down how they are called.
 */
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export interface Ran {
  /** How every program was called: its name, its arguments. */
  readonly calls: ReadonlyArray<ReadonlyArray<string>>
  /** Files that were not there before. */
  readonly written: ReadonlyArray<string>
}

export interface RecordingShell extends Disposable {
  readonly run: (line: string) => Promise<Ran>
}

/** Ends the record of a call. Each is a file: two that write to one at a time would be mixed up. */
const end = "\u0001"

const recorder = `#!/bin/bash -p
printf '%s\\0' "\${0##*/}" "$@" $'${"\\001"}' > "\${0%/bin/*}/record/$$.$RANDOM$RANDOM"
`

/** What is real in there: programs that run others. */
const real = ["bash", "env", "find", "nice", "nohup", "setsid", "sh", "stdbuf", "timeout", "xargs"]

export const make = (programs: ReadonlyArray<string>): RecordingShell => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "recording-shell-"))
  const bin = path.join(root, "bin")
  fs.mkdirSync(bin)
  for (const name of programs) fs.writeFileSync(path.join(bin, name), recorder, { mode: 0o755 })
  for (const name of real) {
    const found = ["/usr/bin", "/bin"].map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file))
    if (found !== undefined) fs.symlinkSync(found, path.join(bin, name))
  }
  let count = 0
  return {
    run: (line) =>
      new Promise((resolve) => {
        const place = path.join(root, String(count++))
        const cwd = path.join(place, "cwd")
        fs.mkdirSync(cwd, { recursive: true })
        fs.writeFileSync(path.join(cwd, "there"), "")
        const record = path.join(place, "record")
        fs.mkdirSync(record)
        fs.symlinkSync(bin, path.join(place, "bin"))
        const child = execFile(
          path.join(bin, "bash"),
          ["-c", line],
          { cwd, env: { PATH: path.join(place, "bin"), HOME: cwd }, timeout: 5_000, killSignal: "SIGKILL" },
          // How it ends says nothing: many of the lines are not bash.
          () =>
            resolve({
              calls: fs
                .readdirSync(record)
                .map((file) => fs.readFileSync(path.join(record, file), "utf8"))
                // What runs in the background may still be writing.
                .flatMap((call) => (call.endsWith(`\0${end}\0`) ? [call.slice(0, -3).split("\0")] : [])),
              written: fs.readdirSync(cwd).filter((name) => name !== "there")
            })
        )
        child.stdin?.end()
      }),
    [Symbol.dispose]: () => fs.rmSync(root, { recursive: true, force: true, maxRetries: 10 })
  }
}
