/**
 * One schema without references: each is replaced by what it points at, as deep
 * as the bounds allow, and every schema object is in the words of 2020-12.
 *
 * **Law**
 *
 * Whatever the original accepts, the inlined schema accepts. Beyond a bound stands
 * a schema that accepts anything. Where that would turn around (under `not` and
 * `if`, in `oneOf`, in a counted `contains`) the keyword is left out instead.
 *
 * @since 0.1.0
 */
import * as Drafts from "./Drafts.ts"
import { cut, entriesOf, fromEntries, isRecord, type Node, shown, sizeOf } from "./Json.ts"
import { noteOf, withNote } from "./Notes.ts"

/**
 * JSON text of one schema, about, in UTF-16 code units. Larger, and a reference
 * bomb fills a model's context with one tool; smaller, and the big schemas of real servers
 * (some 100,000) lose their last properties.
 */
export const maxSize = 250_000

/**
 * Bounds that are tried in order until the schema fits into `maxSize`; the last one
 * is cut there. `recursion` counts how often a definition may stand inside of itself: more, and each level multiplies a
 * tree's size; none, and a model cannot see that a tree has children. `depth` counts schema objects: more
 * overflows no stack before some thousands, but no model fills in twenty levels; less, and real requests lose their leaves.
 */
const attempts = [
  { recursion: 2, depth: 20 },
  { recursion: 1, depth: 20 },
  { recursion: 0, depth: 12 },
  { recursion: 0, depth: 6 },
  { recursion: 0, depth: 3 }
] as const

/** References that point at references. More than a few are a cycle, which means nothing. */
const maxHops = 32

/**
 * Schemas that are open at once, references among them. More overflows no stack before some thousands, but each is
 * compared with all before it; less, and a deep schema of references is cut before `depth` is reached.
 */
const maxOpen = 64

/** Code units of one description. Longer ones are stories, and a tool's own description is not among them. */
const maxDescription = 4_000

/** A schema object with its overhead: braces, quotes, commas. */
const nodeSize = 12

interface Place {
  readonly schema: unknown
  /** What `#` means here: the document, or the nearest schema with an `$id` of its own. */
  readonly base: Node
}

interface State {
  readonly draft: Drafts.Draft
  readonly recursion: number
  readonly depth: number
  readonly root: Node
  room: number
  /** How often something was left out, so far. */
  losses: number
  overflowed: boolean
  /** Nothing is tried after this, so what fits is kept. */
  readonly last: boolean
  /** Of values that stand in many places, such as a long enum. */
  readonly sizes: Map<unknown, number>
}

/** A schema that is wider than it was, in a way that must not stay hidden inside of a negation. */
const lose = (state: State) => {
  state.losses++
}

/**
 * The schema without references.
 */
export const inline = (schema: unknown): Node => {
  const root = isRecord(schema) ? schema : {}
  let result: Node = {}
  const sizes = new Map<unknown, number>()
  for (const bounds of attempts) {
    const last = bounds === attempts.at(-1)
    const state: State = {
      ...bounds,
      last,
      sizes,
      draft: Drafts.draftOf(schema),
      root,
      room: maxSize,
      losses: 0,
      overflowed: false
    }
    result = visit({ schema, base: root }, [], 0, state)
    if (!state.overflowed) return result
  }
  return result
}

const spend = (state: State, size: number): boolean => {
  if (size > state.room) {
    state.overflowed = true
    lose(state)
    return false
  }
  state.room -= size
  return true
}

const measured = (value: unknown, state: State): number => {
  if (typeof value !== "object" || value === null) return sizeOf(value, maxSize)
  const known = state.sizes.get(value) ?? sizeOf(value, maxSize)
  state.sizes.set(value, known)
  return known
}

const visit = (place: Place, open: ReadonlyArray<unknown>, depth: number, state: State): Node => {
  if (place.schema === true) return {}
  if (place.schema === false) return { not: {} }
  if (!isRecord(place.schema)) {
    lose(state)
    return {}
  }
  // One definition inside of itself, once too often; or references that go on and on.
  if (open.length > maxOpen || open.filter((schema) => schema === place.schema).length > state.recursion) {
    lose(state)
    return beyond(place.schema, "nested further")
  }
  if (depth > state.depth) {
    lose(state)
    return beyond(place.schema, "nested too deep to show")
  }
  if ((state.overflowed && !state.last) || !spend(state, nodeSize)) return {}

  const schema = place.schema
  const own = typeof schema["$id"] === "string" && !schema["$id"].startsWith("#") ? schema : place.base
  const inside = [...open, schema]
  const { node, lost } = Drafts.modernise(schema, state.draft)
  for (const _ of lost) lose(state)
  const note = lost.length === 0 ? undefined : lostNote(schema, lost)

  const reference = schema["$ref"]
  const here = { base: own, inside, depth, state }
  if (typeof reference !== "string") return withNote(children(node, here), note)

  const target = resolve(reference, own, state.root)
  if (target === undefined) lose(state)
  const pointed =
    target === undefined
      ? { description: `Undefined reference ${shown(reference)}.` }
      : visit(target, inside, depth, state)
  const siblings = Drafts.ignoresSiblings(state.draft) ? pickAnnotations(node) : node
  const rest = children(siblings, here)
  if (Object.keys(rest).every((key) => Drafts.annotations.has(key))) return withNote({ ...pointed, ...rest }, note)
  const { allOf, ...others } = rest
  return withNote({ ...others, allOf: [pointed, ...(Array.isArray(allOf) ? allOf : [])] }, note)
}

const pickAnnotations = (node: Node): Node =>
  fromEntries(Object.entries(node).filter(([key]) => Drafts.annotations.has(key)))

const beyond = (schema: Node, why: string): Node => {
  const name = [schema["title"], schema["description"]].find((text) => typeof text === "string" && text !== "")
  return { description: typeof name === "string" ? `${cut(name, 200)} (${why})` : `Any value (${why}).` }
}

const lostNote = (schema: Node, lost: ReadonlyArray<string>): string | undefined =>
  lost.some((key) => key.startsWith("unevaluated") && schema[key] === false) ? "no other keys or items" : undefined

interface Here {
  readonly base: Node
  readonly inside: ReadonlyArray<unknown>
  readonly depth: number
  readonly state: State
}

const singles: ReadonlySet<string> = new Set(Drafts.single)
const lists: ReadonlySet<string> = new Set(Drafts.lists)
const maps: ReadonlySet<string> = new Set(Drafts.maps)

const children = (node: Node, { base, inside, depth, state }: Here): Node => {
  const out: Record<string, unknown> = {}
  const child = (schema: unknown) => visit({ schema, base }, inside, depth + 1, state)
  /** Undefined when anything inside was widened. */
  const exact = <A>(build: () => A): A | undefined => {
    const before = state.losses
    const built = build()
    return state.losses === before ? built : undefined
  }
  let cutProperties = 0
  const unsaid: Array<string> = []

  for (const [key, value] of Object.entries(node)) {
    if (key === "not" || key === "if" || key === "contains") {
      const built = exact(() => child(value))
      if (built !== undefined) out[key] = built
      else if (key === "contains" && node["maxContains"] === undefined) out[key] = child(value)
    } else if (key === "oneOf" && Array.isArray(value)) {
      const before = state.losses
      const built = value.map(child)
      if (state.losses === before) out["oneOf"] = built
      // Wider members may overlap where the original ones did not.
      else if (node["anyOf"] === undefined) out["anyOf"] = built
      else out["allOf"] = [...(Array.isArray(out["allOf"]) ? out["allOf"] : []), { anyOf: built }]
    } else if ((key === "additionalProperties" || key === "items") && typeof value === "boolean") {
      if (key === "additionalProperties") out[key] = value
      else out[key] = child(value)
    } else if (singles.has(key)) out[key] = child(value)
    else if (lists.has(key) && Array.isArray(value)) {
      const built = value.map(child)
      out[key] = key === "allOf" && Array.isArray(out["allOf"]) ? [...out["allOf"], ...built] : built
    } else if (maps.has(key) && isRecord(value)) {
      const built: Array<readonly [string, Node]> = []
      for (const [name, schema] of Object.entries(value)) {
        if (state.overflowed && !state.last) break
        if (spend(state, name.length + 5)) built.push([name, child(schema)])
        else cutProperties++
      }
      out[key] = fromEntries(built)
    } else if (key === "description" && typeof value === "string") {
      const text = cut(value, maxDescription)
      if (spend(state, text.length)) out[key] = text
    } else if (spend(state, measured(value, state))) out[key] = value
    else unsaid.push(key)
  }

  // `then` and `else` mean nothing alone, and contradict each other's absence.
  if (out["if"] === undefined) {
    delete out["then"]
    delete out["else"]
  }
  if (out["contains"] === undefined) {
    delete out["minContains"]
    delete out["maxContains"]
  }
  const note = noteOf(node, unsaid)
  if (note !== undefined && spend(state, note.length)) Object.assign(out, withNote(out, note))
  if (cutProperties > 0) {
    // Those that were cut must not be taken for keys that nobody knows, not even where silence means that.
    out["additionalProperties"] = true
    return withNote(out, `${cutProperties} more keys are not shown`)
  }
  return out
}

/** Where a reference points; undefined for nowhere in this document. */
const resolve = (reference: string, base: Node, root: Node): Place | undefined => {
  let [target, hops, from] = [reference, 0, base]
  for (;;) {
    const at = target.indexOf("#")
    const [document, fragment] = at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)]
    if (document !== "") {
      const named = [base, root].find((node) => typeof node["$id"] === "string" && sameDocument(node["$id"], document))
      if (named === undefined) return undefined
      from = named
    }
    const found = fragment === "" || fragment.startsWith("/") ? point(fragment, from) : anchored(fragment, from)
    if (found === undefined) return undefined
    if (!isRecord(found.schema) || typeof found.schema["$ref"] !== "string" || Object.keys(found.schema).length > 1) {
      return found
    }
    if (++hops > maxHops) return undefined
    target = found.schema["$ref"]
    from = found.base
  }
}

const sameDocument = (id: string, document: string) => id.replace(/#$/, "") === document

/** RFC 6901 §6, as a URI fragment: percent escapes first, then `~1` and `~0`. */
const point = (fragment: string, from: Node): Place | undefined => {
  const pointer = decoded(fragment)
  if (pointer === undefined) return undefined
  let [at, base]: [unknown, Node] = [from, from]
  for (const token of pointer.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~")
    if (Array.isArray(at)) {
      if (!/^(?:0|[1-9]\d*)$/.test(key)) return undefined
      at = at[Number(key)]
    } else if (isRecord(at) && Object.hasOwn(at, key)) at = at[key]
    else return undefined
    if (isRecord(at) && typeof at["$id"] === "string" && !at["$id"].startsWith("#")) base = at
  }
  return at === undefined ? undefined : { schema: at, base }
}

/** `decodeURIComponent`, which throws on what is malformed: a reference with such an escape points nowhere. */
const decoded = (text: string): string | undefined => {
  if (/%(?![0-9a-f]{2})/i.test(text)) return undefined
  const bytes = new TextEncoder().encode(text)
  const plain: Array<number> = []
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] === 0x25) {
      plain.push(Number.parseInt(String.fromCharCode(bytes[index + 1]!, bytes[index + 2]!), 16))
      index += 2
    } else plain.push(bytes[index]!)
  }
  return new TextDecoder().decode(new Uint8Array(plain))
}

/** Definitions looked through for a plain-name fragment: they are where generators put one. */
const anchored = (name: string, from: Node): Place | undefined => {
  const candidates = [
    from,
    ...[from["$defs"], from["definitions"]].flatMap((map) => entriesOf(map).map(([, node]) => node))
  ]
  const found = candidates.find(
    (node) => node["$anchor"] === name || node["$id"] === `#${name}` || node["id"] === `#${name}`
  )
  return found === undefined ? undefined : { schema: found, base: from }
}
