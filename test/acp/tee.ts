/**
 * Stands between a client and the agent, and writes down every line: `client ` or `agent `,
 * then what was sent. The first argument is the file, the others are the agent's command.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import type { Readable, Writable } from "node:stream"

const [file, program, ...args] = process.argv.slice(2)
const agent = spawn(program!, args, { stdio: ["pipe", "pipe", "inherit"] })

const passing = (side: string, from: Readable, to: Writable) => {
  let rest = ""
  from.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) fs.appendFileSync(file!, `${side} ${line}\n`)
    to.write(text)
  })
  from.on("end", () => {
    if (rest !== "") fs.appendFileSync(file!, `${side} ${rest}\n`)
    to.end()
  })
  to.on("error", () => {})
}
passing("client", process.stdin, agent.stdin)
passing("agent", agent.stdout, process.stdout)
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => agent.kill(signal))
agent.on("exit", (status) => process.exit(status ?? 1))
