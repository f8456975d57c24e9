/**
 * What changed in a file, for a person.
 *
 * @since 0.1.0
 */
import * as TextDiff from "effect/TextDiff"
import { isUtf8 } from "node:buffer"

/** Bytes, old and new together. More take long to compare and nobody reads them. */
const maxBytes = 1024 * 1024

/** Lines searched for as changed, in one region. More makes the worst case slower; fewer makes large diffs longer. */
const maxEdits = 1000

/**
 * A unified diff with three lines of context, and its counts. Undefined where either is not UTF-8, holds a NUL, or is
 * too large.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (path: string, before: Uint8Array | undefined, after: Uint8Array | undefined) => {
  const [old, made] = [before ?? new Uint8Array(), after ?? new Uint8Array()]
  if (old.length + made.length > maxBytes || !isText(old) || !isText(made)) return undefined
  const edits = editsOf(textOf(old), textOf(made))
  const count = (tag: "Insert" | "Delete") =>
    edits.reduce((sum, edit) => (edit._tag === tag ? sum + edit.items.length : sum), 0)
  return {
    diff: TextDiff.unified(edits, {
      fromFile: before === undefined ? "/dev/null" : `a/${path}`,
      toFile: after === undefined ? "/dev/null" : `b/${path}`
    }),
    addedLines: count("Insert"),
    removedLines: count("Delete")
  }
}

/** Most of a file stays as it is: only what is between the first and the last change is compared. */
const editsOf = (old: string, made: string): ReadonlyArray<TextDiff.Edit<string>> => {
  const shorter = Math.min(old.length, made.length)
  const atStart = alike(old, made, shorter, false)
  // At the start of a line.
  const start = atStart === 0 ? 0 : old.lastIndexOf("\n", atStart - 1) + 1
  const atEnd = alike(old, made, shorter - start, true)
  // Behind the end of one, which is the same in both.
  const newline = old.indexOf("\n", old.length - atEnd)
  const end = newline < 0 ? 0 : old.length - newline - 1
  const between = TextDiff.lines(old.slice(start, old.length - end), made.slice(start, made.length - end), { maxEdits })
  return [...equal(old.slice(0, start)), ...between, ...equal(old.slice(old.length - end))]
}

/** UTF-16 code units, at most `most`, that are the same at the start, or the end. By halves: equal ones are told in one step. */
const alike = (a: string, b: string, most: number, atEnd: boolean): number => {
  const part = (text: string, from: number, to: number) =>
    atEnd ? text.slice(text.length - to, text.length - from) : text.slice(from, to)
  let known = 0
  for (let limit = most; known < limit;) {
    const middle = Math.ceil((known + limit) / 2)
    if (part(a, known, middle) === part(b, known, middle)) known = middle
    else limit = middle - 1
  }
  return known
}

const equal = (text: string): ReadonlyArray<TextDiff.Edit<string>> =>
  text === "" ? [] : [{ _tag: "Equal", items: text.match(/[^\n]*\n|[^\n]+$/g) ?? [] }]

const isText = (bytes: Uint8Array): boolean => isUtf8(bytes) && !bytes.includes(0)

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
