/**
 * What could be granted beyond a single call: a rule that covers it and others of its
 * kind, narrow enough to be said yes to at a glance.
 *
 * **Contract**
 *
 * - It is a rule that allows the call, put among those in force. So it covers nothing that
 *   they ask for or deny, and nothing that is not literal.
 * - It is told where it can be told safely, and nowhere else: the first words of a command
 *   that only looks, builds or tests, whatever follows them; the folder of a file, below the
 *   workspace; a host.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Decision from "./Decision.ts"
import * as Rules from "./Rules.ts"
import type * as ShellCommand from "./ShellCommand.ts"

/**
 * The words after the name of a program that say what it does, where nothing else that it
 * does with them is much worse than what was asked for: `git push origin x` is no reason to
 * permit `git push --force`. An asterisk is one more word, such as the name of a script.
 */
const harmless: ReadonlyMap<string, string> = new Map(
  Object.entries({
    cargo: "bench build check clippy doc fmt test tree",
    git: "add blame commit describe diff log ls-files ls-tree rev-list rev-parse shortlog show status",
    go: "build doc list test version vet",
    npm: "list ls outdated run:* test view",
    pnpm: "list ls outdated run:* test view",
    yarn: "list outdated run:* test"
  })
)

/** Parts of a line that are looked at. More is no line that a person says yes to at a glance. */
const mostParts = 20

/**
 * The rule that could be granted, if there is one.
 *
 * @category deciding
 * @since 0.1.0
 */
export const make = (rules: Rules.Rules, request: Decision.Request, kinds?: Rules.Kinds): string | undefined =>
  Array.from(new Set(candidates(request))).find((text) => {
    const allow = granted([text], kinds)
    return (
      allow.length > 0 && Decision.decide({ ...rules, allow: [...rules.allow, ...allow] }, request)._tag === "Allowed"
    )
  })

/**
 * What was granted, as rules. A text that is none grants nothing.
 *
 * @category converting
 * @since 0.1.0
 */
export const granted = (texts: ReadonlyArray<string>, kinds?: Rules.Kinds): ReadonlyArray<Rules.Rule> =>
  texts.flatMap((text) => {
    const rule = Rules.parse(text, { action: "allow", kinds, locate: () => position })
    return Result.isSuccess(rule) ? [rule.success] : []
  })

const position: Rules.Position = { source: "granted", line: 1, column: 1 }

const candidates = ({ places, subject, tool }: Decision.Request): ReadonlyArray<string> => {
  switch (subject._tag) {
    case "Whole":
      return []
    case "Command":
      return subject.analysis.parts
        .slice(0, mostParts)
        .flatMap((part) => (part._tag === "Command" ? ofCommand(part) : []))
        .map((words) => `${tool}(${words} *)`)
    case "Paths": {
      const folders = new Set(subject.targets.map((target) => folderOf(target, places.workspace)))
      const [folder] = folders
      return folders.size === 1 && folder !== undefined ? [`${tool}(${folder}/*)`] : []
    }
    case "Hosts":
      return subject.hosts.filter((host) => isDomain.test(host)).map((host) => `${tool}(${host})`)
  }
}

const ofCommand = (command: ShellCommand.Command): ReadonlyArray<string> => {
  const words = command.arguments.slice(0, 2).map((word) => (word._tag === "Literal" ? word.value : ""))
  const [first = "", second = ""] = words
  const known = harmless.get(command.program)?.split(" ") ?? []
  if (known.includes(first)) return [`${command.program} ${first}`]
  return known.includes(`${first}:*`) && /^\w[\w:.-]*$/.test(second) ? [`${command.program} ${first} ${second}`] : []
}

/** Below the workspace, by names that stand for themselves. Names with a dot in front hold what runs by itself. */
const folderOf = ({ beneath, path }: Decision.Target, workspace: string): string | undefined => {
  if (beneath || !path.startsWith(`${workspace}/`)) return undefined
  const names = path.slice(workspace.length + 1).split("/")
  return names.length > 1 && names.every((name) => /^[\w@+=][\w@+=. -]*$/.test(name))
    ? names.slice(0, -1).join("/")
    : undefined
}

/** No address, and no name of this machine or its network. */
const isDomain = /^(?:[a-z\d-]+\.)+[a-z][a-z-]*[a-z]$/i
