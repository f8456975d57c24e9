/**
 * The files of a session, by their names.
 *
 * A session is a row of segments, numbered from 1. The last one is written to, the others
 * never change. `SESSION.00000003.jsonl` is the third; `SESSION.00000001-00000003.jsonl`
 * is what is left of the first three after compaction, which removes them when it has
 * its name, and counts instead of them if it did not come so far.
 *
 * @since 0.1.0
 */

/** @internal */
export interface Segment {
  readonly name: string
  /** Of the session, as it stands in names. */
  readonly session: string
  /** The numbers that it has the content of. */
  readonly first: number
  readonly last: number
}

const number = (value: number): string => String(value).padStart(8, "0")

/** @internal */
export const make = (session: string, first: number, last: number): Segment => ({
  name: first === last ? `${session}.${number(last)}.jsonl` : `${session}.${number(first)}-${number(last)}.jsonl`,
  session,
  first,
  last
})

/** What a compaction writes to, until it has its name. */
export const temporary = (session: string): string => `${session}.tmp`

const form = /^([^.]+)\.(\d{8,})(?:-(\d{8,}))?\.jsonl$/

/** @internal */
export const parse = (name: string): Segment | undefined => {
  const [, session, first, last] = form.exec(name) ?? []
  return session === undefined ? undefined : { name, session, first: Number(first), last: Number(last ?? first) }
}

/** The sessions that have files, by name. */
export const sessions = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(names.flatMap((name) => parse(name)?.session ?? []))].toSorted()

/** Those of a session that count, in order, and those whose content is in another one. */
export const of = (
  session: string,
  names: ReadonlyArray<string>
): { readonly live: ReadonlyArray<Segment>; readonly superseded: ReadonlyArray<Segment> } => {
  const all = names.flatMap((name) => {
    const segment = parse(name)
    return segment?.session === session ? [segment] : []
  })
  const isSuperseded = (one: Segment) =>
    all.some(
      (other) => other !== one && other.first <= one.first && other.last >= one.last && width(other) > width(one)
    )
  return {
    live: all.filter((one) => !isSuperseded(one)).toSorted((a, b) => a.last - b.last),
    superseded: all.filter(isSuperseded)
  }
}

const width = ({ first, last }: Segment): number => last - first

/** Bytes of a name in most file systems are 255: room for the rest of it. */
const maxName = 180

const encoder = new TextEncoder()

/**
 * The id of a session as a part of names: lower case letters, digits, `_` and `-` stand for themselves, everything
 * else is `%` and two digits for each byte, capitals too: there are file systems that do not tell them apart. Of a long
 * one there is the beginning and a checksum.
 */
export const sessionName = (id: string, crc32: (text: string) => number): string => {
  const name = Array.from(encoder.encode(id), (byte) => {
    const char = String.fromCharCode(byte)
    return /[a-z0-9_-]/.test(char) ? char : `%${byte.toString(16).padStart(2, "0")}`
  }).join("")
  if (name === "") return "%"
  return name.length <= maxName ? name : `${name.slice(0, maxName - 30)}%~${crc32(id).toString(16)}~${name.length}`
}
