/**
 * Ways to break a turn: each takes away one thing that `Conversation` promises.
 *
 * @since 0.1.0
 */
import type { Mutant } from "./mutants.ts"

const tests = ["test/layers/agent/Turn", "test/layers/agent/Conversation", "test/layers/agent/Readers"]

const mutant = (name: string, file: string, from: string, to: string): Mutant => ({
  name: `turn: ${name}`,
  file: `../layers/agent/${file}`,
  from,
  to,
  tests
})

const step = "internal/Step.ts"
const loop = "internal/Loop.ts"
const inbox = "internal/Inbox.ts"
const sample = "internal/Sample.ts"
const log = "SessionLog.ts"

const overHttp = (name: string, file: string, from: string, to: string): Mutant => ({
  ...mutant(name, file, from, to),
  tests: ["test/layers/agent/Providers"]
})

export const turnMutants: ReadonlyArray<Mutant> = [
  mutant(
    "results stand in the order in which they came",
    log,
    "answers.get(part.callId) ?? unknown(part)",
    '[...answers.values()][parts.filter((other) => other.type === "call").indexOf(part)] ?? unknown(part)'
  ),
  mutant(
    "a call that was cut off is executed (C112)",
    loop,
    "...(part.truncated === true ? { truncated: true } : {}),",
    ""
  ),
  mutant("what is cut off is not seen", sample, 'response.stop === "length" && last', "false && last"),
  mutant("ids are not looked at within a batch (C127)", loop, "yield* state.runtime.batch", "state.runtime"),
  mutant(
    "calls start after a cancel (C125)",
    step,
    "const why = this.stopping ?? refused(index)",
    "const why = refused(index) !== undefined && this.stopping === undefined ? refused(index) : undefined"
  ),
  mutant(
    "of calls that wait for each other the first is cancelled first (C123)",
    step,
    'Effect.forEach(this.running.toReversed(), (running) => this.cancel(running, why), {\n        concurrency: "unbounded",',
    "Effect.forEach(this.running, (running) => this.cancel(running, why), {\n        concurrency: 1,"
  ),
  mutant(
    "a cancel does not reach the calls",
    loop,
    "return cancellation.step === undefined ? Effect.void",
    "return true ? Effect.void"
  ),
  mutant("who leaves leaves the calls running", step, "        yield* this.stop(why)\n", ""),
  mutant(
    "calls that were not started have no pair in the journal",
    step,
    "        yield* Effect.forEach(this.running, (running, index) => this.start(running, index), { discard: true })\n      }",
    "      }"
  ),
  mutant("what was said is taken and lost", loop, "    state.history = [...state.history, ...messages]\n", ""),
  mutant("what was said is said twice", inbox, "    this.waiting = []\n    return messages", "    return messages"),
  mutant("what waits is said in reverse", inbox, "[...this.waiting, waiting]", "[waiting, ...this.waiting]"),
  mutant("the end of a task is told though its result told it", inbox, "    this.told.add(taskId)\n", ""),
  mutant("nothing wakes", inbox, "if (!waiting.wakes || this.wake === undefined) return", "return"),
  mutant(
    "results are not written down",
    loop,
    'return state.append([{ _tag: "Answered", callId: call.callId, result }])',
    "return Effect.void"
  ),
  mutant("a response with calls is not written before they start", loop, "      yield* state.append([asked])\n", ""),
  mutant(
    "what was said is not written down",
    loop,
    "Effect.andThen(state.append(said), restore(emit(said)))",
    "restore(emit(said))"
  ),
  mutant(
    "what was recovered is not written down",
    "Conversation.ts",
    '    yield* state.append([{ _tag: "Answered", callId: part.callId, result }])\n',
    ""
  ),
  mutant(
    "what the journal knows is not asked",
    "Conversation.ts",
    "(yield* recover(part.callId)) ?? lost(part)",
    "lost(part)"
  ),
  mutant(
    "the words of a partial response are lost",
    loop,
    "Option.isNone(sampled) ? keep : Effect.void",
    "Effect.void"
  ),
  mutant(
    "a response that is given up leaves its text behind",
    sample,
    '        this.text = ""\n        this.callIds',
    "        this.callIds"
  ),
  mutant("no nudge", loop, "times === state.repeats.nudge", "false"),
  mutant("no stop", loop, "times >= state.repeats.stop", "false"),
  mutant("no limit of calls", loop, ": index >= free", ": false"),
  mutant("no limit of samples", loop, "spent.samples >= samples", "false"),
  mutant("no limit of tokens", loop, "spent.usage.inputTokens + spent.usage.outputTokens >= tokens", "false"),
  mutant("a summary keeps nothing", "Compaction.ts", "Math.max(1, history.length - 1 - tooMany)", "0"),
  mutant(
    "turns run side by side",
    "Conversation.ts",
    "turns.withPermit(",
    "((effect: Effect.Effect<any, any>) => effect)("
  ),
  mutant(
    "half of a character is lost at the end of a chunk",
    "internal/EventStream.ts",
    "        Stream.decodeText(),\n        Stream.mapEffect(feed)",
    "        Stream.map((bytes) => new TextDecoder().decode(bytes)),\n        Stream.mapEffect(feed)"
  ),
  mutant(
    "what ends before its end is a response",
    "OpenAiChat.ts",
    "if (this.finish === undefined) return",
    'this.finish ??= "stop"'
  ),
  overHttp("a retry does not wait as long as it is asked to", "Retry.ts", "Math.max(asked ?? 0, backoff)", "backoff"),
  overHttp("what will not pass is asked for again", "Retry.ts", "!isTransient(error)", "isTransient(error) && false"),
  overHttp("the key is told", "internal/Refusal.ts", 'text.replaceAll(key, "(the key)")', "text"),
  overHttp("ids are sent as they came (C127)", "WireIds.ts", "allowed.test(id) && !used.has(id) ? id : callId", "id"),
  overHttp(
    "a name that no provider takes is sent back",
    "WireIds.ts",
    'allowed.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 64) || "unknown"',
    "name"
  ),
  overHttp(
    "parameters that are no JSON are sent back",
    "OpenAiChat.ts",
    "JSON.stringify(WireIds.parametersOf(call))",
    "call.text"
  ),
  overHttp(
    "half a character is sent",
    "Anthropic.ts",
    "`[resource: ${item.uri.toWellFormed()}]`",
    "`[resource: ${item.uri}]`"
  ),
  overHttp(
    "blank texts are sent to Anthropic",
    "Anthropic.ts",
    'return item.text.trim() === "" ? []',
    'return item.text === "x" ? []'
  ),
  overHttp("a redirect is followed, key and all", "internal/EventStream.ts", 'redirect: "error"', 'redirect: "follow"')
]
