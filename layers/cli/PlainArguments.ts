/**
 * The arguments of `call` and `list` as they are mostly written. Whoever makes one call would
 * wait longer for the parser of all subcommands to be loaded than for the call.
 *
 * **Contract**
 *
 * What is read here means the same as to that parser, and whatever is not plain is left to it: other
 * subcommands, questions for help, mistakes, `--flag=value`, what is said twice.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Sandbox from "../../src/Sandbox.ts"
import type * as Call from "./Call.ts"
import type * as List from "./List.ts"

/**
 * @category models
 * @since 0.1.0
 */
export type Plain =
  | { readonly command: "call"; readonly given: Call.Given }
  | { readonly command: "list"; readonly given: Parameters<typeof List.command>[0] }

const toggles: ReadonlyArray<string> = ["--json", "--yes", "--inherit-env"]
const texts: ReadonlyArray<string> = ["--workspace", "--sandbox", "--allow", "--cancel-after", "--timeout"]
const textsOfCall: ReadonlyArray<string> = [...texts, "--id", "--journal"]

/** To the parser they may be the value of a toggle. */
const isLiteral = (text: string): boolean => /^(true|false|yes|no|on|off|y|n|1|0)$/.test(text)

/**
 * What the arguments ask for. Undefined if they are not plain.
 *
 * @category converting
 * @since 0.1.0
 */
export const read = ([command, ...rest]: ReadonlyArray<string>): Plain | undefined => {
  if (command !== "call" && command !== "list") return undefined
  const known = command === "call" ? textsOfCall : texts
  const flags = new Map<string, string>()
  const allow: Array<string> = []
  const operands: Array<string> = []
  const args = rest.values()
  for (const arg of args) {
    if (arg === "" || isLiteral(arg)) return undefined
    if (!arg.startsWith("-") || arg === "-") {
      operands.push(arg)
      continue
    }
    const value = toggles.includes(arg) ? "" : known.includes(arg) ? args.next().value : undefined
    if (value === undefined || value.startsWith("-") || isLiteral(value) || flags.has(arg)) return undefined
    if (arg === "--allow") allow.push(value)
    else flags.set(arg, value)
  }
  const [name, parameters = "", ...more] = operands
  const sandbox = Sandbox.parse(flags.get("--sandbox") ?? "off")
  const times = ["--cancel-after", "--timeout"].map((flag) => flags.get(flag))
  if (more.length > 0 || Result.isFailure(sandbox) || !times.every(isTime)) return undefined
  const [cancelAfter, timeout] = times.map((text) => (text === undefined ? undefined : Number(text)))
  const options = {
    json: flags.has("--json"),
    workspace: flags.get("--workspace") ?? ".",
    plugins: [],
    cancelAfter,
    timeout,
    yes: flags.has("--yes"),
    allow,
    sandbox: sandbox.success,
    inheritEnv: flags.has("--inherit-env")
  }
  if (command === "list") return name === undefined ? { command, given: options } : undefined
  if (name === undefined) return undefined
  return { command, given: { ...options, name, parameters, id: flags.get("--id"), journal: flags.get("--journal") } }
}

/** Whole and positive, and so few that the clocks know it. */
const isTime = (text: string | undefined): boolean => text === undefined || /^[1-9]\d{0,8}$/.test(text)
