import { assert, describe, it } from "@effect/vitest"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { callArguments, options } from "../../../layers/cli/Flags.ts"
import * as PlainArguments from "../../../layers/cli/PlainArguments.ts"

/** What the parser of all subcommands makes of arguments. Undefined if it does not run `call` or `list`. */
const parsed = (args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const found: Array<unknown> = []
    const keep = (command: "call" | "list") => (given: object) => Effect.sync(() => found.push({ command, given }))
    const program = Command.make("toolstream").pipe(
      Command.withSubcommands([
        Command.make("list", options, keep("list")),
        Command.make("call", callArguments, keep("call"))
      ])
    )
    yield* Effect.exit(Command.runWith(program, { version: "1" })(args))
    return found.length === 1 ? found[0] : undefined
  }).pipe(
    Effect.provide(CliOutput.layerPresenter({ present: () => Effect.void })),
    Effect.provide(CliConfig.layer({ builtIns: [] })),
    Effect.provide(NodeServices.layer)
  )

const plain: ReadonlyArray<ReadonlyArray<string>> = [
  ["call", "read_file", '{"path":"README.md","limit":5}', "--yes"],
  ["call", "bash", '{"command":"true"}', "--json", "--timeout", "60000", "--cancel-after", "10"],
  ["call", "--workspace", "/tmp", "--allow", "bash(git *)", "--allow", "grep", "glob", "-", "--id", "7"],
  ["call", "list_dir", "--journal", "j", "--inherit-env", "--sandbox", "workspace,no-network"],
  ["list", "--json", "--sandbox", "read-only"],
  ["list"]
]

/** Means something else, or nothing, or is for the other parser to say. */
const notPlain: ReadonlyArray<ReadonlyArray<string>> = [
  [],
  ["--help"],
  ["call"],
  ["call", "bash", "--help"],
  ["call", "bash", "{}", "more"],
  ["call", "bash", "--json", "true"],
  ["call", "bash", "--plugin", "p.ts"],
  ["call", "bash", "--timeout=1"],
  ["call", "bash", "--timeout", "0"],
  ["call", "bash", "--timeout", "9999999999"],
  ["call", "bash", "--timeout", "1.5"],
  ["call", "bash", "--id", "--yes"],
  ["call", "bash", "--yes", "--yes"],
  ["call", "bash", "--sandbox", "none"],
  ["call", "bash", "--", "{}"],
  ["list", "--id", "1"],
  ["list", "more"],
  ["run", "-"]
]

const Words = Schema.Array(
  Schema.Literals(
    Array.from(
      new Set([...plain, ...notPlain, ["", "true", "no", "-5", "--no-json", "--yes=false", "007", " ", "-y"]].flat())
    )
  )
)

describe("arguments as they are mostly written", () => {
  it.effect("are read as the parser of all subcommands reads them", () =>
    Effect.gen(function* () {
      for (const args of plain) {
        const read = PlainArguments.read(args)
        assert.isDefined(read, args.join(" "))
        assert.deepStrictEqual<unknown>(read, yield* parsed(args))
      }
    })
  )

  it("are left to it where they are not plain", () => {
    for (const args of notPlain) assert.isUndefined(PlainArguments.read(args), args.join(" "))
  })

  it.effect.prop(
    "mean the same to both, whatever they are",
    { command: Schema.Literals(["call", "list"]), name: Schema.Literals(["bash", "{}", "--yes"]), words: Words },
    ({ command, name, words }) =>
      Effect.gen(function* () {
        const args = [command, ...(command === "call" ? [name] : []), ...words.slice(0, 4)]
        const read = PlainArguments.read(args)
        if (read !== undefined) assert.deepStrictEqual<unknown>(read, yield* parsed(args))
      }),
    { arbitrary: { runs: Number(process.env["RUNS"] ?? 1000) } }
  )
})
