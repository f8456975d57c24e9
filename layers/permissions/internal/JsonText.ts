/**
 * JSON with comments and commas at the end, read with the place of every value, so that what is wrong with it can be
 * shown where it stands.
 */
import * as Result from "effect/Result"

export type Json =
  | { readonly _tag: "Scalar"; readonly offset: number; readonly value: number | boolean | null }
  | {
      readonly _tag: "String"
      readonly offset: number
      readonly value: string
      /** Where each UTF-16 code unit of the value stands, and where the closing quote does. */
      readonly offsets: ReadonlyArray<number>
    }
  | { readonly _tag: "Array"; readonly offset: number; readonly items: ReadonlyArray<Json> }
  | { readonly _tag: "Object"; readonly offset: number; readonly members: ReadonlyArray<Member> }

export interface Member {
  readonly name: string
  readonly offset: number
  readonly value: Json
}

/** In UTF-16 code units. */
export interface Misplaced {
  readonly offset: number
  readonly why: string
}

/** Values within values. Deeper is no configuration, and would overflow the stack. */
const deepest = 32

export const parse = (text: string): Result.Result<Json, Misplaced> => {
  const reader = new Reader(text)
  return Result.flatMap(reader.value(0), (json) => {
    reader.blank()
    return reader.failure() ?? (reader.ended() ? Result.succeed(json) : reader.unexpected("the end of the file"))
  })
}

/** What `JSON.parse` would give. */
export const toValue = (json: Json): unknown => {
  switch (json._tag) {
    case "Array":
      return json.items.map(toValue)
    case "Object":
      return Object.fromEntries(json.members.map(({ name, value }) => [name, toValue(value)]))
    default:
      return json.value
  }
}

/** The offset of what a path names, or of the last of it that is there. */
export const locate = (json: Json, path: ReadonlyArray<PropertyKey>): number => {
  const [first, ...rest] = path
  if (json._tag === "Array") {
    const item = json.items[Number(first)]
    return item === undefined ? json.offset : locate(item, rest)
  }
  if (json._tag !== "Object") return json.offset
  const member = json.members.find(({ name }) => name === first)
  if (member === undefined) return json.offset
  return rest.length === 0 ? member.offset : locate(member.value, rest)
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t"
}

class Reader {
  private at = 0
  private open: number | undefined
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  ended(): boolean {
    return this.at >= this.text.length
  }

  /** A comment that does not end. */
  failure() {
    return this.open === undefined ? undefined : this.fail("the comment is not closed", this.open)
  }

  blank(): void {
    for (;;) {
      const rest = /[\t\n\r \ufeff]*(\/\/[^\n]*|\/\*)?/y
      rest.lastIndex = this.at
      const [all = "", comment] = rest.exec(this.text) ?? []
      const start = this.at + all.length
      this.at = start
      if (comment === undefined) return
      if (comment !== "/*") continue
      const end = this.text.indexOf("*/", start)
      if (end < 0) {
        this.open = start - 2
        this.at = this.text.length
        return
      }
      this.at = end + 2
    }
  }

  value(depth: number): Result.Result<Json, Misplaced> {
    this.blank()
    const offset = this.at
    if (depth > deepest) return this.fail("it is nested too deeply")
    const sign = this.text[this.at]
    if (sign === "{") return this.members(depth)
    if (sign === "[") return this.items(depth)
    if (sign === '"') return this.string()
    const word = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y
    word.lastIndex = offset
    const [found] = word.exec(this.text) ?? []
    if (found === undefined) return this.unexpected("a value")
    this.at += found.length
    const value = found === "null" ? null : found === "true" || found === "false" ? found === "true" : Number(found)
    return Result.succeed({ _tag: "Scalar", offset, value })
  }

  unexpected(expected: string): Result.Result<never, Misplaced> {
    const failure = this.failure()
    if (failure !== undefined) return failure
    const [sign] = this.text.slice(this.at, this.at + 2)
    return this.fail(`expected ${expected}, not ${sign === undefined ? "the end of the file" : JSON.stringify(sign)}`)
  }

  private fail(why: string, offset = this.at): Result.Result<never, Misplaced> {
    return Result.fail({ offset, why })
  }

  private take(sign: string): boolean {
    this.blank()
    const found = this.text[this.at] === sign
    if (found) this.at++
    return found
  }

  private items(depth: number): Result.Result<Json, Misplaced> {
    const offset = this.at++
    const items: Array<Json> = []
    while (!this.take("]")) {
      const item = this.value(depth + 1)
      if (Result.isFailure(item)) return item
      items.push(item.success)
      if (!this.take(",") && this.text[this.at] !== "]") return this.unexpected('"," or "]"')
    }
    return Result.succeed({ _tag: "Array", offset, items })
  }

  private members(depth: number): Result.Result<Json, Misplaced> {
    const offset = this.at++
    const members: Array<Member> = []
    while (!this.take("}")) {
      if (this.text[this.at] !== '"') return this.unexpected('a name in double quotes or "}"')
      const name = this.string()
      if (Result.isFailure(name)) return name
      const { offset, value: text } = name.success
      // Which of the two holds is not the same for every reader.
      if (members.some(({ name }) => name === text))
        return this.fail(`${JSON.stringify(text)} is there twice; join the two`, offset)
      if (!this.take(":")) return this.unexpected('":"')
      const value = this.value(depth + 1)
      if (Result.isFailure(value)) return value
      members.push({ name: text, offset, value: value.success })
      if (!this.take(",") && this.text[this.at] !== "}") return this.unexpected('"," or "}"')
    }
    return Result.succeed({ _tag: "Object", offset, members })
  }

  private string(): Result.Result<Extract<Json, { readonly _tag: "String" }>, Misplaced> {
    const offset = this.at++
    const offsets: Array<number> = []
    let value = ""
    for (;;) {
      const [start, sign] = [this.at, this.text[this.at]]
      if (sign === undefined || sign === "\n") return this.fail("the text is not closed", offset)
      if (sign < " ") return this.fail("a control character is written as an escape, such as \\t")
      this.at++
      if (sign === '"') {
        offsets.push(start)
        return Result.succeed({ _tag: "String", offset, value, offsets })
      }
      const unit = sign === "\\" ? this.escape() : sign
      if (unit === undefined) return this.fail("there is no such escape", start)
      value += unit
      offsets.push(start)
    }
  }

  private escape(): string | undefined {
    const letter = this.text[this.at++] ?? ""
    if (letter !== "u") return Object.hasOwn(escapes, letter) ? escapes[letter] : undefined
    const digits = this.text.slice(this.at, this.at + 4)
    this.at += 4
    return /^[\da-fA-F]{4}$/.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : undefined
  }
}
