/**
 * Patterns of hosts: a name, `*.name` for all below it, `*` for all.
 */
import * as Result from "effect/Result"
import type { Misplaced } from "./PathPattern.ts"

export interface HostPattern {
  /** In lower case. With `below`, of the hosts that end with a dot and this. */
  readonly name: string
  readonly below: boolean
}

const label = /^[a-z\d_](?:[a-z\d_-]*[a-z\d_])?$/

export const parse = (text: string): Result.Result<HostPattern, Misplaced> => {
  const invalid = (offset: number, why: string) => Result.fail<Misplaced>({ offset, why })
  if (text === "*") return Result.succeed({ name: "", below: true })
  const below = text.startsWith("*.")
  const name = normal(below ? text.slice(2) : text)
  if (/^\[[\da-f:.]+\]$/.test(name) && !below) return Result.succeed({ name, below })
  const odd = name.split(".").find((part) => !label.test(part))
  if (odd === undefined) return Result.succeed({ name, below })
  return invalid(
    Math.max(0, text.toLowerCase().indexOf(odd)),
    odd.includes("*")
      ? '"*" stands for all hosts below a name, as in *.example.com'
      : `${JSON.stringify(odd)} is no part of the name of a host; write it without protocol, port and path, in ASCII`
  )
}

/** As names are compared: the dot at the end says nothing. */
const normal = (host: string): string => host.toLowerCase().replace(/\.$/, "")

export const matches = ({ below, name }: HostPattern, host: string): boolean => {
  const normalised = normal(host)
  return below ? name === "" || normalised.endsWith(`.${name}`) : normalised === name
}
