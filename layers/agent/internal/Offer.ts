/**
 * The tools that a model is offered in a turn, under names that its provider takes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OutwardName from "../../../src/OutwardName.ts"
import type { ListedTool } from "../../../src/ToolRegistry.ts"
import type { Described } from "../../dialects/ToolSchema.ts"

export interface Offer {
  readonly tools: ReadonlyArray<Described>
  /** The name of the tool in the registry; a name that was not offered, as it is. */
  readonly nameOf: (outward: string) => string
}

/** What every provider takes as the name of a tool. */
const allowed = /^[a-zA-Z0-9_-]{1,64}$/

/** Two that would have one name: the second is left out, and told. */
export const make = (listed: ReadonlyArray<ListedTool>): Effect.Effect<Offer> =>
  Effect.gen(function* () {
    const names = new Map<string, string>()
    const tools: Array<Described> = []
    for (const tool of listed) {
      const outward = allowed.test(tool.name) ? tool.name : yield* OutwardName.make({ name: tool.name })
      if (names.has(outward)) {
        yield* Effect.logWarning(`the tool ${tool.name} is not offered: ${outward} is the name of another`)
        continue
      }
      names.set(outward, tool.name)
      tools.push(outward === tool.name ? tool : { ...tool, name: outward })
    }
    return { tools, nameOf: (outward) => names.get(outward) ?? outward }
  })
