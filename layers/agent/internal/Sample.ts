/**
 * One response as it comes: its events as those of a turn, and what had been said if it
 * is cut off.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as History from "../History.ts"
import type { Response, SamplerEvent } from "../Sampler.ts"
import type { SamplerError } from "../SamplerError.ts"
import type { TurnEvent } from "../Turn.ts"

export interface Sampled {
  readonly response: Response
  /** Of the calls that were named while it came, by their index. */
  readonly callIds: ReadonlyMap<number, string>
}

export class Sample {
  private readonly emit: (events: NonEmptyReadonlyArray<TurnEvent>) => Effect.Effect<void>
  private callIds = new Map<number, string>()
  private text = ""
  private usage = History.noUsage

  constructor(emit: (events: NonEmptyReadonlyArray<TurnEvent>) => Effect.Effect<void>) {
    this.emit = emit
  }

  run(sample: ToolStream.ToolStream<SamplerEvent, Response, SamplerError>): Effect.Effect<Sampled, SamplerError> {
    return Effect.map(
      ToolStream.runForEachArray(sample, (events) =>
        Effect.flatMap(
          Effect.forEach(events, (event) => this.note(event)),
          (events) => this.emit(events)
        )
      ),
      (response) => ({ response: cutOff(response), callIds: this.callIds })
    )
  }

  /** What the model had said when it was cut off. Its thoughts and its calls were not whole, and are none. */
  get said(): History.Reply | undefined {
    return this.text.trim() === ""
      ? undefined
      : {
          _tag: "Reply",
          parts: [{ type: "text", text: this.text }],
          stop: "cancelled",
          usage: this.usage
        }
  }

  private note(event: SamplerEvent): Effect.Effect<TurnEvent> {
    switch (event._tag) {
      case "Text":
        this.text += event.text
        return Effect.succeed(event)
      case "Reasoning":
        return Effect.succeed(event)
      case "Usage":
        this.usage = event.usage
        return Effect.succeed(event)
      case "Retrying":
        this.text = ""
        this.callIds = new Map()
        return Effect.succeed(event)
      case "ToolCallStart":
        return Effect.map(ToolCall.make({ name: event.name, parameters: undefined }), ({ callId }) => {
          this.callIds.set(event.index, callId)
          return {
            _tag: "ToolCallStart",
            callId,
            ...(event.id === "" ? {} : { externalId: event.id }),
            name: event.name
          }
        })
      case "ToolCallDelta":
        return Effect.succeed({ _tag: "ToolCallDelta", callId: this.callIdOf(event.index), text: event.text })
      case "ToolCallEnd":
        return Effect.succeed({ _tag: "ToolCallEnd", callId: this.callIdOf(event.index) })
    }
  }

  /** A sampler that tells pieces of a call that has not begun breaks its contract. */
  private callIdOf(index: number): string {
    return this.callIds.get(index) ?? ""
  }
}

/** A model that is stopped at its limit is stopped in its last part: a call there is not whole, even if it looks so. */
const cutOff = (response: Response): Response => {
  const last = response.parts.at(-1)
  return response.stop === "length" && last?.type === "call"
    ? { ...response, parts: [...response.parts.slice(0, -1), { ...last, truncated: true }] }
    : response
}
