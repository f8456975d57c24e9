/**
 * What a process of a crash run says of itself, a JSON object a line, before it is killed; and what is known afterwards
 * of one call.
 */
import * as fs from "node:fs"

/** The tools: what is done twice counts; what may be done twice; what changes nothing. */
export const tools = ["append", "put", "look"] as const
export type Name = (typeof tools)[number]

export type Line =
  /** Its journal is open, and it begins to recover. */
  | { readonly _tag: "Opened" }
  /** It has recovered, and makes calls. */
  | { readonly _tag: "Ready"; readonly recovered: number; readonly again: number }
  /** Before the call is dispatched. */
  | { readonly _tag: "Made"; readonly callId: string; readonly tool: Name }
  /** Its tool runs, for the first time or again. */
  | { readonly _tag: "Begun"; readonly callId: string }
  /** The reader of a call has seen its terminal. */
  | { readonly _tag: "Seen"; readonly callId: string; readonly terminal: string }

/** Written when this returns: a pipe has it, whatever becomes of the process. */
export const say = (line: Line): void => void fs.writeSync(1, `${JSON.stringify(line)}\n`)

/** What is known of one call when nobody works on it any more. */
export interface Known {
  readonly callId: string
  readonly tool: Name
  /** What its reader was told before the crash. */
  readonly seen: string | undefined
  /** The terminals in the journal; undefined if it knows no such call. */
  readonly kept: ReadonlyArray<string> | undefined
  /** How often its tool began. */
  readonly begun: number
  /** How often it did what it does. */
  readonly effects: number
}

interface Told {
  readonly result:
    | { readonly _tag: "Success" }
    | {
        readonly _tag: "Failure"
        readonly error: { readonly reason: { readonly _tag: string; readonly phase?: string } }
      }
}

/** "Success", or why it failed and what is known of its start. */
export const endingOf = (terminal: string): string => {
  const { result } = JSON.parse(terminal) as Told
  if (result._tag === "Success") return "Success"
  const { _tag, phase } = result.error.reason
  return phase === undefined ? _tag : `${_tag} ${phase}`
}

/** Endings that say: the tool did nothing. */
const untouched = ["Interrupted not-started", "PermissionDenied", "Unavailable", "Busy"]

/** What broke the law. */
export const breaches = ({ begun, callId, effects, kept, seen, tool }: Known): ReadonlyArray<string> => {
  const breach = (what: string) => `${tool} ${callId}: ${what}`
  // Whether a tool runs that changes nothing need not be known.
  const ran = tool === "look" ? 0 : Math.max(begun, effects)
  if (kept === undefined) {
    return [
      ...(seen === undefined ? [] : [breach(`its reader was told ${endingOf(seen)}, the journal knows no such call`)]),
      ...(ran === 0 ? [] : [breach("it ran, and the journal knows no such call")])
    ]
  }
  const [terminal] = kept
  if (terminal === undefined || kept.length > 1) return [breach(`it has ${kept.length} terminals`)]
  const ending = endingOf(terminal)
  return [
    ...(seen === undefined || seen === terminal
      ? []
      : [breach(`its reader was told ${endingOf(seen)}, kept is ${ending}`)]),
    ...(tool === "append" && ran > 1 ? [breach(`it ran ${ran} times`)] : []),
    ...(ending === "Success" && effects === 0 ? [breach("it succeeded, and did not run")] : []),
    ...(untouched.includes(ending) && ran > 0 ? [breach(`it ran, and is told as ${ending}`)] : []),
    ...(tool === "put" && ran > 0 && ending !== "Success" ? [breach(`it was started, and its end is ${ending}`)] : [])
  ]
}
