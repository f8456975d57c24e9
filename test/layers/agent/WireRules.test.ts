import { assert, describe, it } from "@effect/vitest"
import * as WireRules from "./WireRules.ts"

const call = (id: string, name = "read", args = "{}") => ({ id, type: "function", function: { name, arguments: args } })
const use = (id: string, name = "read", input: unknown = {}) => ({ type: "tool_use", id, name, input })
const result = (id: string, text = "x") => ({ type: "tool_result", tool_use_id: id, content: [{ type: "text", text }] })
const text = (text: string) => ({ type: "text", text })

/** What a provider refuses, and a part of what is said of it. */
const chats: ReadonlyArray<Sample> = [
  [
    "no answer to a",
    [
      { role: "assistant", tool_calls: [call("a")] },
      { role: "user", content: "go on" }
    ]
  ],
  ["the end: no answer to a", [{ role: "assistant", tool_calls: [call("a")] }]],
  ["an answer to no call", [{ role: "tool", tool_call_id: "a", content: "x" }]],
  [
    "the name a.b",
    [
      { role: "assistant", tool_calls: [call("a", "a.b")] },
      { role: "tool", tool_call_id: "a", content: "x" }
    ]
  ],
  [
    "arguments are no object",
    [
      { role: "assistant", tool_calls: [call("a", "r", "{")] },
      { role: "tool", tool_call_id: "a", content: "x" }
    ]
  ],
  ["half a character", [{ role: "user", content: "\ud83d" }]],
  [
    "object schema missing properties",
    [],
    { tools: [{ type: "function", function: { name: "r", description: "d", parameters: { type: "object" } } }] }
  ]
]

const anthropics: ReadonlyArray<Sample> = [
  [
    "no result of a",
    [
      { role: "user", content: [text("x")] },
      { role: "assistant", content: [use("a")] },
      { role: "user", content: [text("y")] }
    ]
  ],
  ["a result of no call", [{ role: "user", content: [result("a")] }]],
  [
    "something stands before",
    [
      { role: "user", content: [text("x")] },
      { role: "assistant", content: [use("a")] },
      { role: "user", content: [text("y"), result("a")] }
    ]
  ],
  [
    "used twice",
    [
      { role: "user", content: [text("x")] },
      { role: "assistant", content: [use("a"), use("a")] },
      { role: "user", content: [result("a")] }
    ]
  ],
  [
    "the same role twice",
    [
      { role: "user", content: [text("x")] },
      { role: "user", content: [text("x")] }
    ]
  ],
  ["a blank text", [{ role: "user", content: [text(" ")] }]],
  [
    "the input is no object",
    [
      { role: "user", content: [text("x")] },
      { role: "assistant", content: [use("a", "r", "x")] },
      { role: "user", content: [result("a")] }
    ]
  ],
  [
    "does not match",
    [{ role: "user", content: [text("x")] }],
    { tools: [{ name: "a.b", description: "d", input_schema: { type: "object", properties: {} } }] }
  ]
]

const items: ReadonlyArray<Sample> = [
  [
    "no output of a",
    [
      { type: "function_call", call_id: "a", name: "r", arguments: "{}" },
      { role: "user", content: [] }
    ]
  ],
  ["an output of no call", [{ type: "function_call_output", call_id: "a", output: "x" }]],
  [
    "the id ",
    [
      { type: "function_call", call_id: "", name: "r", arguments: "{}" },
      { type: "function_call_output", call_id: "", output: "x" }
    ]
  ]
]

type Sample = readonly [says: string, messages: ReadonlyArray<object>, more?: object]

const named = ([says, messages, more = {}]: Sample) => ({ says, messages, more })

describe("WireRules", () => {
  it.each(chats.map(named))("Chat: $says", ({ messages, more, says }) => {
    assert.include(WireRules.chat({ messages, ...more }).join("\n"), says)
  })

  it.each(anthropics.map(named))("Anthropic: $says", ({ messages, more, says }) => {
    assert.include(WireRules.anthropic({ max_tokens: 1, messages, ...more }).join("\n"), says)
  })

  it.each(items.map(named))("Responses: $says", ({ messages, says }) => {
    assert.include(WireRules.responses({ input: messages }).join("\n"), says)
  })

  it("nothing is said of what is right", () => {
    const done = { role: "tool", tool_call_id: "a", content: "x" }
    assert.deepStrictEqual(WireRules.chat({ messages: [{ role: "assistant", tool_calls: [call("a")] }, done] }), [])
    const messages = [
      { role: "user", content: [text("x")] },
      { role: "assistant", content: [use("a"), use("b")] },
      { role: "user", content: [result("a"), result("b"), text("y")] }
    ]
    assert.deepStrictEqual(WireRules.anthropic({ max_tokens: 1, messages }), [])
  })
})
