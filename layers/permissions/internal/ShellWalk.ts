/**
 * Goes through the syntax of a command line and collects what it runs.
 */
import * as Bash from "unbash"
import type { Assignment, Command, NotLiteral, Part, Redirection, Word } from "../ShellCommand.ts"
import * as ProgramArguments from "./ProgramArguments.ts"
import { baseName, isSystem } from "./ProgramName.ts"
import * as ShellBuiltins from "./ShellBuiltins.ts"
import * as ShellWord from "./ShellWord.ts"
import * as ShellWrappers from "./ShellWrappers.ts"

type Node = Bash.SyntaxNode
type NodeOf<Type extends Node["type"]> = Extract<Node, { readonly type: Type }>

/** Command lines within command lines, as in `sh -c "sh -c ls"`. More is nothing that a person would read. */
const deepest = 8

/** Parts of a line. More would take long to compare with rules; less refuses scripts that people do write. */
const mostParts = 2_000

/** Where in the line we are. */
interface Place {
  /** What the positions of nodes point into. */
  readonly source: string
  readonly depth: number
  /** A shell that has less grammar than bash, and would read the same text in another way. */
  readonly shell: "bash" | "posix"
}

/** What the shell is started with, unless it is the workspace and nothing. */
export interface Start {
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

export const walk = (
  line: string,
  start: Start
): { readonly parts: ReadonlyArray<Part>; readonly notLiteral: ReadonlyArray<NotLiteral> } => {
  const walk = new Walk()
  walk.start(start)
  walk.script(line, { depth: 0, shell: "bash" })
  return walk.end()
}

class Walk {
  private readonly parts: Array<Part> = []
  private readonly notLiteral: Array<NotLiteral> = []
  /** The line changes the directory: from where on, is not followed. */
  private moves = false

  /** As if the line began with `cd` and `export`. */
  start({ cwd, env = {} }: Start): void {
    for (const [name, value] of Object.entries(env)) this.variable("start", name, value, `${name}=${value}`)
    if (cwd === undefined) return
    const words = ["cd", cwd].map(ShellWord.literal)
    this.run(words, shown(words), { source: "", depth: 0, shell: "bash" })
  }

  script(source: string, place: Omit<Place, "source">): void {
    const script = Bash.parse(source)
    this.visit(script, { ...place, source })
  }

  end() {
    if (this.moves)
      for (const part of this.parts)
        if (isRelative(part))
          this.give(part.text, "the line changes the directory, so it is not known which file this is")
    return { parts: this.parts, notLiteral: this.notLiteral }
  }

  private give(text: string, why: string): void {
    this.notLiteral.push({ text, why })
  }

  private add(part: Part): void {
    if (this.parts.length < mostParts) this.parts.push(part)
    else if (this.parts.length === mostParts) this.give(part.text, `it has more than ${mostParts} parts`)
  }

  private visit(node: Node, place: Place): void {
    const text = () =>
      "text" in node && typeof node.text === "string" ? node.text : place.source.slice(node.pos, node.end)
    const why = whyNotLiteral(node, place.shell)
    if (why !== undefined) this.give(text(), why)
    const within = node.type === "Script" && node.source !== undefined ? { ...place, source: node.source } : place
    if (node.type === "Command") this.command(node, place)
    else if (node.type === "Redirect") this.redirect(node, place)
    else if (node.type === "For" || node.type === "Select") this.variable("shell", node.name.value, undefined, text())
    Bash.forEachChild(node, (child) => this.visit(child, within))
  }

  private command(node: NodeOf<"Command">, place: Place): void {
    const text = place.source.slice(node.pos, node.end)
    for (const child of node.prefix) {
      if (child.type === "Assignment") this.assign(child, node.name === undefined ? "shell" : "command")
    }
    if (node.name === undefined) return
    const words: Array<Word> = [ShellWord.fromSyntax(node.name)]
    for (const child of node.args) {
      if (child.type === "Word") words.push(ShellWord.fromSyntax(child))
      else {
        this.assign(child, "exported")
        words.push(ShellWord.literal(child.name))
      }
    }
    this.run(words, text, place)
  }

  /** What is run by words that are no longer looked at by the shell. */
  private run(words: ReadonlyArray<Word>, text: string, place: Place): void {
    const [first, ...rest] = words
    if (first === undefined) return
    if (place.depth > deepest) return this.give(text, "it is nested too deeply to be read")
    if (first._tag !== "Literal")
      return this.give(text, `its program is not literal: ${first._tag === "Unknown" ? first.why : "it is expanded"}`)
    if (first.value === "") return this.give(text, "its program has no name")
    const name = baseName(first.value)
    const inner = { ...place, depth: place.depth + 1 }
    const command = (transparent: boolean) => {
      this.add({
        _tag: "Command",
        program: first.value,
        // Words that do not matter are taken by any wildcard.
        arguments: ShellBuiltins.ignoresArguments(first) ? rest.map(ShellWord.opened) : rest,
        spelled: ProgramArguments.spelled(name, rest),
        transparent: transparent && isSystem(first.value),
        text
      } satisfies Command)
    }

    const wrapper = ShellWrappers.find(name)
    if (wrapper !== undefined) {
      const peeled = ShellWrappers.peel(wrapper, rest)
      command(wrapper.transparent === true && peeled.command.length > 0)
      for (const assigned of peeled.assignments) this.variable("command", ...splitAssignment(assigned), assigned)
      if (peeled.notLiteral !== undefined) this.give(text, `what ${name} runs cannot be read: ${peeled.notLiteral}`)
      if (peeled.moves) this.moves = true
      if (peeled.extended && !ShellBuiltins.ignoresArguments(peeled.command[0]))
        this.give(text, `${name} adds arguments that are not known`)
      return this.run(peeled.command, shown(peeled.command), inner)
    }

    if (ShellBuiltins.moves(name)) this.moves = true
    const builtin = ShellBuiltins.whyNotLiteral(name, rest)
    if (builtin !== undefined) this.give(text, builtin)

    const nested = ShellBuiltins.nested(name, rest)
    command(nested?.transparent === true)
    if (nested !== undefined) {
      if (nested.notLiteral !== undefined) this.give(text, nested.notLiteral)
      if (nested.moves) this.moves = true
      for (const words of nested.commands) this.run(words, shown(words), inner)
      for (const script of nested.scripts)
        this.script(script, { depth: place.depth + 1, shell: nested.shell === "bash" ? place.shell : "posix" })
      return
    }
    const reads = ProgramArguments.reads(name, rest)
    if (reads !== undefined) this.give(text, reads)
    if (ShellBuiltins.ignoresArguments(first)) return
    for (const word of rest)
      if (word._tag === "Unknown") this.give(text, `its argument ${word.text} is not literal: ${word.why}`)
  }

  private assign(node: NodeOf<"Assignment">, scope: ShellBuiltins.Scope): void {
    const value = node.value.type === "Word" ? ShellWord.fromSyntax(node.value) : undefined
    this.variable(scope, node.name, value?._tag === "Literal" ? value.value : undefined, node.text)
  }

  private variable(scope: ShellBuiltins.Scope, name: string, value: string | undefined, text: string): void {
    this.add({
      _tag: "Assignment",
      name,
      value,
      harmless: ShellBuiltins.isHarmless(name, scope),
      text
    } satisfies Assignment)
  }

  private redirect(node: NodeOf<"Redirect">, place: Place): void {
    const text = place.source.slice(node.pos, node.end)
    if (node.target === undefined) return this.give(text, "it has no target")
    if (node.descriptor?.type === "FileDescriptorVariable") return this.give(text, "it sets a variable")
    const word = ShellWord.fromSyntax(node.target)
    if (word._tag !== "Literal")
      return this.give(text, `its file is not literal: ${word._tag === "Unknown" ? word.why : "it is expanded"}`)
    const { value: target } = word
    const duplicates = node.operator === ">&" || node.operator === "<&"
    if (duplicates && /^(?:\d+-?|-)$/.test(target)) return
    if (/^\/dev\/(?:null|stdin|stdout|stderr|tty|fd\/\d+)$/.test(target)) return
    const kind = /^\/+dev\/+(?:tcp|udp)\//.test(target) ? "network" : node.operator === "<" ? "read" : "write"
    this.add({ _tag: "Redirection", kind, target, text } satisfies Redirection)
  }
}

const shown = (words: ReadonlyArray<Word>): string => words.map(ShellWord.show).join(" ")

const splitAssignment = (text: string): readonly [name: string, value: string] => [
  text.slice(0, text.indexOf("=")),
  text.slice(text.indexOf("=") + 1)
]

const isRelative = (part: Part): boolean => {
  if (part._tag === "Assignment") return false
  const path = part._tag === "Command" ? part.program : part.target
  return !path.startsWith("/") && (part._tag === "Redirection" || path.includes("/"))
}

/** What makes of a line one of which it is not known what it runs, wherever it stands. */
const whyNotLiteral = (node: Node, shell: Place["shell"]): string | undefined => {
  switch (node.type) {
    case "Script":
      return "errors" in node && node.errors?.[0] !== undefined
        ? `it is not bash: ${node.errors[0].message}`
        : undefined
    case "CommandExpansion":
    case "ArithmeticCommandExpansion":
      return node.script === undefined ? "it cannot be read" : undefined
    case "ProcessSubstitution":
      return node.script === undefined ? "it cannot be read" : notPosix(shell)
    case "Function":
      return "it defines a function, which may take the place of a program"
    case "Coproc":
      return "it runs beside the line"
    case "ArithmeticWord":
      return /^(?:0[xX])?[\da-fA-F]+$/.test(node.value) && /^\d/.test(node.value)
        ? undefined
        : "to compute a variable may run what the variable says"
    case "ArithmeticFor":
    case "ArithmeticCommand":
    case "Select":
    case "HereString":
    case "AnsiCQuoted":
    case "LocaleString":
    case "ExtendedGlob":
    case "ArrayValue":
      return notPosix(shell)
    case "Redirect":
      return ["&>", "&>>", ">&", "<&"].includes(node.operator) && !/^[\d-]+$/.test(node.target?.text ?? "")
        ? notPosix(shell)
        : undefined
    case "Pipeline":
      return node.operators.includes("|&") ? notPosix(shell) : undefined
    case "TestUnary":
      return node.operator === "-v" || node.operator === "-R"
        ? "to look at a variable may run what its index says"
        : undefined
    case "TestBinary":
      return /^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator) && !(isNumber(node.left) && isNumber(node.right))
        ? "to compare a variable as a number may run what the variable says"
        : undefined
    case "TestCommand":
      return notPosix(shell)
    case "Assignment":
      return node.append || node.index !== undefined
        ? "it changes a variable of which the value is not known"
        : node.value.type === "ArrayValue"
          ? "it sets an array"
          : undefined
    case "ParameterExpansion":
      return node.prefix === "!" || node.index !== undefined ? "it depends on a name that is computed" : undefined
    case "Default":
      return node.operator.endsWith("=") ? "it sets a variable" : undefined
    case "Slice":
    case "Transform":
    case "Names":
    case "Unknown":
      return "it may run what the variable says"
    default:
      return undefined
  }
}

const isNumber = (word: NodeOf<"Word">): boolean => word.parts === undefined && /^-?\d+$/.test(word.value)

const notPosix = (shell: Place["shell"]): string | undefined =>
  shell === "posix" ? "not every shell reads it as bash does; use bash -c" : undefined
