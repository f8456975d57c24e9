/**
 * What the files of a journal say, read by the rules of the format alone: the model that its readers are compared with.
 */
import * as zlib from "node:zlib"
import type { Remains } from "./Disk.ts"

interface Said {
  readonly _tag: string
  readonly callId?: string
  readonly call?: { readonly callId: string }
}

/** The entries of whole lines with a right checksum, as text, in order. */
export const entries = (bytes: Uint8Array): ReadonlyArray<string> => {
  const known = read.get(bytes)
  if (known !== undefined) return known
  const said = parse(bytes)
  read.set(bytes, said)
  return said
}

/** Bytes are read once: a disk gives a file other ones when it changes. */
const read = new WeakMap<Uint8Array, ReadonlyArray<string>>()

const parse = (bytes: Uint8Array): ReadonlyArray<string> => {
  const text = Buffer.from(bytes).toString("latin1")
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .flatMap((line) => {
      const [, crc, entry] = /^\{"crc":"([0-9a-f]{8})","entry":(.*)\}$/s.exec(line) ?? []
      if (entry === undefined || crc === undefined) return []
      const bytes = Buffer.from(entry, "latin1")
      return zlib.crc32(bytes) === Number.parseInt(crc, 16) ? [bytes.toString("utf8")] : []
    })
}

/** By session: the texts of its entries, without headers. A segment that another one stands for does not count. */
export const sessions = (files: Remains): ReadonlyMap<string, ReadonlyArray<string>> => {
  const segments = [...files].flatMap(([name, bytes]) => {
    const [, session, first, last] = /^([^.]+)\.(\d+)(?:-(\d+))?\.jsonl$/.exec(name) ?? []
    return session === undefined ? [] : [{ session, first: Number(first), last: Number(last ?? first), bytes }]
  })
  const said = new Map<string, Array<string>>()
  for (const one of segments.toSorted((a, b) => a.last - b.last)) {
    const isIn = (other: typeof one) =>
      other.session === one.session &&
      other.first <= one.first &&
      other.last >= one.last &&
      other.last - other.first > one.last - one.first
    if (segments.some(isIn)) continue
    const texts = said.get(one.session) ?? []
    said.set(one.session, texts)
    texts.push(...entries(one.bytes).filter((text) => !text.startsWith('{"_tag":"Segment"')))
  }
  return said
}

/** Each text is looked at once. */
const callIds = new Map<string, string>()

export const callIdOf = (text: string): string => {
  const known = callIds.get(text)
  if (known !== undefined) return known
  const entry = JSON.parse(text) as Said
  const callId = entry.call?.callId ?? entry.callId ?? ""
  callIds.set(text, callId)
  return callId
}

export const isTerminal = (text: string): boolean => text.startsWith('{"_tag":"Terminal"')
