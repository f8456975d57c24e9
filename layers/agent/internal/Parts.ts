/**
 * The parts of a response, put together from its pieces as they come.
 *
 * @since 0.1.0
 */
import type { Opaque } from "../History.ts"
import type { Response, SamplerEvent } from "../Sampler.ts"

type Part = Response["parts"][number]

/** One part that grows. `key` is the provider's: a number, an id. */
interface Growing {
  readonly key: unknown
  readonly type: Part["type"]
  readonly id: string
  readonly name: string
  /** Of the call among those of the response. */
  readonly index: number
  text: string
  opaque: Opaque | undefined
  open: boolean
}

export class Parts {
  private readonly growing: Array<Growing> = []
  private calls = 0

  /** A piece of text, of the part with this key. */
  text(key: unknown, text: string): ReadonlyArray<SamplerEvent> {
    if (text === "") return []
    this.part(key, "text").text += text
    return [{ _tag: "Text", text }]
  }

  reasoning(key: unknown, text: string): ReadonlyArray<SamplerEvent> {
    const part = this.part(key, "reasoning")
    if (text === "") return []
    part.text += text
    return [{ _tag: "Reasoning", text }]
  }

  /** What the provider wants back with a part. */
  keep(key: unknown, type: "text" | "reasoning", opaque: Opaque): void {
    this.part(key, type).opaque = opaque
  }

  callStart(key: unknown, id: string, name: string): ReadonlyArray<SamplerEvent> {
    const index = this.calls++
    this.growing.push({ key, type: "call", id, name, index, text: "", opaque: undefined, open: true })
    return [{ _tag: "ToolCallStart", index, id, name }]
  }

  /** A piece of the parameters; undefined if no such call has begun. */
  callDelta(key: unknown, text: string): ReadonlyArray<SamplerEvent> | undefined {
    const call = this.call(key)
    if (call === undefined) return undefined
    if (text === "") return []
    call.text += text
    return [{ _tag: "ToolCallDelta", index: call.index, text }]
  }

  callEnd(key: unknown): ReadonlyArray<SamplerEvent> {
    const call = this.call(key)
    if (call === undefined || !call.open) return []
    call.open = false
    return [{ _tag: "ToolCallEnd", index: call.index }]
  }

  /** The parameters of a call so far. */
  callText(key: unknown): string | undefined {
    return this.call(key)?.text
  }

  /** Ends the calls that are open. */
  endCalls(): ReadonlyArray<SamplerEvent> {
    return this.growing.flatMap(({ key, type }) => (type === "call" ? this.callEnd(key) : []))
  }

  get hasCalls(): boolean {
    return this.calls > 0
  }

  get parts(): ReadonlyArray<Part> {
    return this.growing.flatMap(({ id, name, opaque, text, type }): ReadonlyArray<Part> => {
      const kept = opaque === undefined ? {} : { opaque }
      if (type === "call") return [{ type, id, name, text, ...kept }]
      return text === "" && opaque === undefined ? [] : [{ type, text, ...kept }]
    })
  }

  private call(key: unknown): Growing | undefined {
    return this.growing.findLast((part) => part.type === "call" && part.key === key)
  }

  private part(key: unknown, type: "text" | "reasoning"): Growing {
    const last = this.growing.findLast((part) => part.type === type && part.key === key)
    if (last !== undefined) return last
    const part: Growing = { key, type, id: "", name: "", index: -1, text: "", opaque: undefined, open: true }
    this.growing.push(part)
    return part
  }
}
