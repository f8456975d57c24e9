/**
 * The names that a model and its provider know tools by: `^[a-zA-Z0-9_-]{1,64}$`.
 *
 * Whoever gave a tool its name, and whatever that name is, has exactly one outward
 * name, which depends on nothing else: not on the other tools, not on the order in
 * which they came, not on the process.
 *
 * **The three forms**, of which no name has two:
 *
 * - `read_file`: a tool of the program itself. No `__` in it.
 * - `server__tool`: a tool of a server. The server's name ends at the first `__`.
 * - `stem__hash`: either, when its own name would not do: other characters, too long,
 *   or of a form that is not its own. The hash is 16 digits of base 32.
 *
 * The hash is 80 bits of SHA-256. Another's hash cannot be hit; a server that spends
 * 2^40 hashes can make two names of its own collide, and `table` refuses both.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Sha256 from "./internal/Sha256.ts"

/**
 * A tool's own name, and the server that gave it; none for the program's own tools.
 *
 * @category models
 * @since 0.1.0
 */
export interface RawName {
  readonly origin?: string | undefined
  readonly name: string
}

/** The limit of OpenAI and Anthropic. One more, and they refuse every request of the session. */
const maxLength = 64

/** Digits of the hash, 5 bits each. Fewer come into reach of who wants them to collide; more leave less to read. */
const digits = 16

/** Code units of the stem that a server's name gets at most. More leaves too little for the tool's. */
const maxOrigin = 16

const allowed = /^[a-zA-Z0-9_-]{1,64}$/
const altered = new RegExp(`__[a-z2-7]{${digits}}$`)

/**
 * Two tools have the same outward name. Neither is in the table, for there is none.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutwardNameTaken extends Schema.TaggedError<OutwardNameTaken>()("OutwardNameTaken", {
  outward: Schema.String,
  /** Each as `origin: name`, quoted. */
  names: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The tools ${this.names.join(" and ")} would both be called "${this.outward}". Rename one, or leave one out.`
  }
}

/**
 * The outward name of a tool.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ name, origin }: RawName): Effect.Effect<string> =>
  Effect.sync(() => {
    const plain = origin === undefined ? ownName(name) : foreignName(origin, name)
    return plain === undefined ? stem(origin, name) + hash(origin, name) : plain
  })

/**
 * The outward names of these tools, both ways.
 *
 * @category models
 * @since 0.1.0
 */
export interface Table {
  readonly toOutward: (raw: RawName) => string | undefined
  readonly fromOutward: (outward: string) => RawName | undefined
  /** In the order given, each once. */
  readonly entries: ReadonlyArray<readonly [outward: string, raw: RawName]>
}

/**
 * Gives every tool its outward name and keeps the way back. The same tool given twice
 * is one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const table = (names: Iterable<RawName>): Effect.Effect<Table, OutwardNameTaken> =>
  Effect.gen(function* () {
    const byOutward = new Map<string, RawName>()
    const byRaw = new Map<string, string>()
    for (const raw of names) {
      const outward = yield* make(raw)
      const other = byOutward.get(outward)
      if (other !== undefined && key(other) !== key(raw)) {
        return yield* new OutwardNameTaken({ outward, names: [key(other), key(raw)] })
      }
      byOutward.set(outward, raw)
      byRaw.set(key(raw), outward)
    }
    return {
      toOutward: (raw) => byRaw.get(key(raw)),
      fromOutward: (outward) => byOutward.get(outward),
      entries: [...byOutward]
    }
  })

/** Two names have one key only if they are the same: lone surrogates are escaped, quotes too. */
const key = ({ name, origin }: RawName): string => JSON.stringify(origin === undefined ? [name] : [origin, name])

const ownName = (name: string): string | undefined => (allowed.test(name) && !name.includes("__") ? name : undefined)

const foreignName = (origin: string, name: string): string | undefined => {
  const joined = `${origin}__${name}`
  // `a_` and `b` would be `a___b`, and so would `a` and `_b`.
  const unambiguous = origin !== "" && name !== "" && !origin.includes("__") && !origin.endsWith("_")
  return unambiguous && allowed.test(joined) && !altered.test(joined) ? joined : undefined
}

const stem = (origin: string | undefined, name: string): string => {
  const server = origin === undefined ? "" : `${readable(origin, "server", maxOrigin)}__`
  return `${server}${readable(name, "tool", maxLength - digits - 2 - server.length)}__`
}

/** What can be kept of a name; runs of what cannot become one `_`. Long names are cut before they are searched. */
const readable = (name: string, otherwise: string, max: number): string => {
  const kept = name
    .slice(0, 4 * max)
    .replace(/[^a-zA-Z0-9-]+/g, "_")
    .replace(/^_/, "")
    .slice(0, max)
    .replace(/_$/, "")
  return kept === "" ? otherwise : kept
}

const base32 = "abcdefghijklmnopqrstuvwxyz234567"

const hash = (origin: string | undefined, name: string): string => {
  const bits = BigInt(`0x${Sha256.hex(key({ origin, name })).slice(0, (digits * 5) / 4)}`)
  return Array.from({ length: digits }, (_, i) => base32[Number((bits >> BigInt(5 * i)) & 31n)]).join("")
}
