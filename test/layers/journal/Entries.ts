/** Entries of calls, for tests of journals. */
import type * as Journal from "../../../src/Journal.ts"

const stats = { durationMs: 1, queuedMs: 0, progress: { emitted: 0, delivered: 0, merged: 0, dropped: 0 } }

export const accepted = (callId: string, sessionId: string, at = 0): Journal.Accepted => ({
  _tag: "Accepted",
  call: { callId, sessionId, name: "write_file" },
  workspace: "/w",
  at
})

export const decoded = (callId: string, parameters: unknown = {}): Journal.Decoded => ({
  _tag: "Decoded",
  callId,
  parameters,
  parametersHash: "00",
  hidden: false,
  readOnly: false
})

export const started = (callId: string, attempt = 1): Journal.Started => ({
  _tag: "Started",
  callId,
  attempt,
  repeatable: false,
  at: 0
})

export const progress = (callId: string, seq: number, value: unknown = {}): Journal.Kept => ({
  _tag: "Progress",
  callId,
  seq,
  value
})

export const terminal = (callId: string, value: unknown = null): Extract<Journal.Entry, { _tag: "Terminal" }> => ({
  _tag: "Terminal",
  callId,
  result: { _tag: "Success", value, content: [], isError: false },
  stats
})
