/**
 * Reads what TypeScript sources say about their imports, without a parser.
 *
 * TypeScript 7 has no JavaScript API and a lexer for JavaScript stumbles over types, so this is a scanner: it blanks
 * comments and the contents of strings, templates and regular expressions, and keeps every offset. What is left can
 * be searched with plain patterns, and a specifier is read from the original text at its offset.
 */

/** A file of the tree. `file` is relative to the root and has `/` between its parts. */
export interface Source {
  readonly file: string
  readonly text: string
}

/** One import, or one `export … from`. */
export interface Import {
  /** As written. */
  readonly specifier: string
  /** The file it names, from the root; `undefined` for a package. */
  readonly target: string | undefined
  /**
   * When the module is loaded: never (`type`), with the importer (`value`), or when asked for (`lazy`).
   * `import { type A } from "…"` is a `value`: under `verbatimModuleSyntax` the import stays.
   */
  readonly kind: "type" | "value" | "lazy"
}

/** After one of these, a slash opens a regular expression; after anything else it divides. */
const beforeRegExp = /(?:^|[(,=:[!&|?{};<>+\-*%~^]|\b(?:return|typeof|case|in|of|do|else|void|yield|await))\s*$/

/** Blanks comments, and the contents of strings, templates and regular expressions; newlines and offsets stay. */
export const mask = (text: string): string => {
  const out = text.split("")
  const blank = (from: number, to: number) => {
    for (let i = from; i < to; i++) if (out[i] !== "\n") out[i] = " "
  }
  // Depths of braces at which a `${` was opened: the matching `}` goes on with the template.
  const templates: Array<number> = []
  let depth = 0
  let at = 0
  const template = () => {
    const from = at
    while (at < text.length) {
      if (text[at] === "\\") at += 2
      else if (text[at] === "`") {
        blank(from, at++)
        return
      } else if (text.startsWith("${", at)) {
        blank(from, at)
        at += 2
        templates.push(depth++)
        return
      } else at++
    }
    blank(from, text.length)
  }
  while (at < text.length) {
    const char = text[at]!
    if (text.startsWith("//", at) || (at === 0 && text.startsWith("#!"))) {
      const end = text.indexOf("\n", at)
      blank(at, end < 0 ? text.length : end)
      at = end < 0 ? text.length : end
    } else if (text.startsWith("/*", at)) {
      const end = text.indexOf("*/", at + 2)
      blank(at, end < 0 ? text.length : end + 2)
      at = end < 0 ? text.length : end + 2
    } else if (char === '"' || char === "'") {
      const from = ++at
      // A string ends with its line at the latest, so that a slip here costs one line and not the file.
      while (at < text.length && text[at] !== char && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1
      blank(from, Math.min(at, text.length))
      at++
    } else if (char === "`") {
      at++
      template()
    } else if (char === "/" && beforeRegExp.test(out.slice(Math.max(0, at - 200), at).join(""))) {
      const from = ++at
      let inClass = false
      while (at < text.length && text[at] !== "\n" && (inClass || text[at] !== "/")) {
        if (text[at] === "\\") at++
        else if (text[at] === "[") inClass = true
        else if (text[at] === "]") inClass = false
        at++
      }
      blank(from, Math.min(at, text.length))
      at++
    } else if (char === "}" && templates.at(-1) === depth - 1) {
      templates.pop()
      depth--
      at++
      template()
    } else {
      if (char === "{") depth++
      if (char === "}") depth--
      at++
    }
  }
  return out.join("")
}

const clause =
  /(?<![.\w$])(import|export)\b(\s+type(?=\s*[{*]|\s+(?!from\b)[\w$]))?((?:(?!\b(?:import|export)\b)[\w$\s{},*])*?)\bfrom\s*(["'])( *)\4/g
const bare = /(?<![.\w$])import\s*(["'])( *)\1/g
const dynamic = /(?<![.\w$])import\s*\(\s*(["'])( *)\1/g
const computed = /(?<![.\w$])import\s*\(\s*(?!["'\s])/g

/** Where a relative specifier leads, from the root. */
const resolve = (file: string, specifier: string): string => {
  const parts = file.split("/").slice(0, -1)
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== ".") parts.push(part)
  }
  return parts.join("/")
}

const cache = new WeakMap<Source, { readonly code: string; readonly imports: ReadonlyArray<Import> }>()

const parse = (source: Source) => {
  const known = cache.get(source)
  if (known !== undefined) return known
  const code = mask(source.text)
  const found: Array<Import & { readonly at: number }> = []
  const add = (match: RegExpMatchArray, blanks: string, kind: Import["kind"]) => {
    // The match ends with the closing quote, wherever the specifier stands in it.
    const end = match.index! + match[0].length - 1
    const specifier = source.text.slice(end - blanks.length, end)
    const target = specifier.startsWith(".") ? resolve(source.file, specifier) : undefined
    found.push({ specifier, target, kind, at: end })
  }
  for (const match of code.matchAll(clause)) add(match, match[5]!, match[2] === undefined ? "value" : "type")
  for (const match of code.matchAll(bare)) add(match, match[2]!, "value")
  for (const match of code.matchAll(dynamic)) add(match, match[2]!, "lazy")
  const imports = found
    .toSorted((a, b) => a.at - b.at)
    .map(({ specifier, target, kind }) => ({ specifier, target, kind }))
  const parsed = { code, imports }
  cache.set(source, parsed)
  return parsed
}

/** The text with comments and the contents of strings blanked. */
export const code = (source: Source): string => parse(source).code

/** The imports of a file, in order. */
export const imports = (source: Source): ReadonlyArray<Import> => parse(source).imports

/** Whether a file imports a module whose name is computed. */
export const importsComputed = (source: Source): boolean => {
  computed.lastIndex = 0
  return computed.test(code(source))
}

/** `src`, `tools`, `layers`, `test` or `examples`. */
export const area = (file: string): string => file.split("/", 1)[0]!

/** The number of lines, an unfinished last one included. */
export const lines = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
