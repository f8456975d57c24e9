/**
 * The clocks of one call, from what its tool declares, its caller sets and the
 * policy of its runtime says.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { type Clocks, type Declared, type Default, type Policy, unset } from "../Clocks.ts"

/** In ms; infinite where there is none. */
export type Limits = Readonly<Record<keyof Clocks, number>>

/** A clock that is out of range, and whose it is. */
export interface OutOfRange {
  readonly of: "caller" | "tool" | "policy"
  readonly message: string
}

/** The longest time that the timers of JavaScript know, in ms: a longer one fires at once. */
const longest = 2 ** 31 - 1

const names = ["total", "idle", "queue", "approval", "grace"] as const

const none: Limits = { total: Infinity, idle: Infinity, queue: Infinity, approval: Infinity, grace: Infinity }

export const isLimits = (resolved: Limits | OutOfRange): resolved is Limits => !("of" in resolved)

/** Resolves clocks, for one runtime. What most calls have, nothing of their own, costs nothing. */
export class Resolver {
  private readonly policy: Policy
  private readonly grace: number | OutOfRange
  /** Of a call of which nothing is known. */
  readonly plain: Limits
  private readonly common: Limits | OutOfRange
  private readonly caps: Limits | OutOfRange | undefined
  private readonly byTool = new Map<string, Limits | OutOfRange>()

  constructor(policy: Policy, grace: Duration.Input) {
    this.policy = policy
    this.grace = ms("grace", grace, "policy")
    this.caps = policy.caps === undefined ? undefined : inMs(policy.caps, "policy")
    this.common = this.make("", {}, {})
    this.plain = isLimits(this.common) ? this.common : none
    for (const tool of Object.keys(policy.tools ?? {})) this.byTool.set(tool, this.make(tool, {}, {}))
  }

  resolve(tool: string, declared: Declared | undefined, caller: Clocks): Limits | OutOfRange {
    return declared === undefined && isEmpty(caller)
      ? this.byTool.size === 0
        ? this.common
        : (this.byTool.get(tool) ?? this.common)
      : this.make(tool, declared ?? {}, caller)
  }

  private make(tool: string, declared: Declared, caller: Clocks): Limits | OutOfRange {
    const { policy, caps } = this
    const own = policy.tools !== undefined && Object.hasOwn(policy.tools, tool) ? policy.tools[tool] : undefined
    const limits: { -readonly [K in keyof Limits]: number } = { ...none }
    for (const name of names) {
      const ofTool = declared[name]
      const fixed = ofTool === undefined || isDefault(ofTool) ? undefined : ms(name, ofTool, "tool")
      const set = caller[name] === undefined ? undefined : ms(name, caller[name], "caller")
      const fallback =
        own?.[name] !== undefined
          ? ms(name, own[name], "policy")
          : ofTool !== undefined && isDefault(ofTool)
            ? ms(name, ofTool.byDefault, "tool")
            : policy.defaults?.[name] !== undefined
              ? ms(name, policy.defaults[name], "policy")
              : name === "grace"
                ? this.grace
                : Infinity
      for (const each of [fixed, set, fallback]) if (typeof each === "object") return each
      const asked = name === "grace" ? (fixed ?? set) : shorter(fixed, set)
      limits[name] = (asked ?? fallback) as number
    }
    if (caps === undefined) return limits
    if (!isLimits(caps)) return caps
    for (const name of names) limits[name] = Math.min(limits[name], caps[name])
    return limits
  }
}

const inMs = (clocks: Clocks, of: OutOfRange["of"]): Limits | OutOfRange => {
  const limits: { -readonly [K in keyof Limits]: number } = { ...none }
  for (const name of names) {
    const value = clocks[name] === undefined ? Infinity : ms(name, clocks[name], of)
    if (typeof value === "object") return value
    limits[name] = value
  }
  return limits
}

const isEmpty = (clocks: Clocks): boolean => {
  if (clocks === unset) return true
  for (const name of names) if (clocks[name] !== undefined) return false
  return true
}

const isDefault = (clock: Duration.Input | Default): clock is Default =>
  typeof clock === "object" && clock !== null && "byDefault" in clock

const shorter = (a: number | OutOfRange | undefined, b: number | OutOfRange | undefined) =>
  a === undefined ? b : b === undefined ? a : a < b ? a : b

const ms = (name: keyof Clocks, duration: Duration.Input, of: OutOfRange["of"]): number | OutOfRange => {
  // Most are numbers, of which a call need not make durations.
  const value = typeof duration === "number" ? duration : millisOf(duration)
  if (value === Infinity || (Number.isInteger(value) && value >= 1 && value <= longest)) return value
  const shown = typeof duration === "object" ? `${value} ms` : String(duration)
  return { of, message: `the ${name} clock is ${shown}; give 1 to ${longest} whole milliseconds` }
}

const millisOf = (duration: Duration.Input): number => {
  const given = Duration.fromInput(duration)
  return given._tag === "Some" ? Duration.toMillis(given.value) : Number.NaN
}
