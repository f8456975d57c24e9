import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import type * as Tool from "../../../src/Tool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as ApplyPatch from "../../../tools/apply-patch/ApplyPatch.ts"
import * as Bash from "../../../tools/bash/Bash.ts"
import * as Build from "../../../tools/build/Build.ts"
import * as EditFile from "../../../tools/edit-file/EditFile.ts"
import * as Glob from "../../../tools/Glob.ts"
import * as Grep from "../../../tools/Grep.ts"
import * as KillTask from "../../../tools/KillTask.ts"
import * as ListDir from "../../../tools/ListDir.ts"
import * as ListTasks from "../../../tools/ListTasks.ts"
import * as Monitor from "../../../tools/Monitor.ts"
import * as ReadFile from "../../../tools/ReadFile.ts"
import * as ReadOutput from "../../../tools/ReadOutput.ts"
import * as TaskOutput from "../../../tools/TaskOutput.ts"
import * as TodoWrite from "../../../tools/TodoWrite.ts"
import * as WaitTasks from "../../../tools/WaitTasks.ts"
import * as WriteFile from "../../../tools/WriteFile.ts"
import * as Program from "./Program.ts"

interface Listed extends ErasedTool.ToolDescriptor {
  readonly origin: string
}

const schemas = ["parametersSchema", "progressSchema", "successSchema", "failureSchema"] as const

/** Those that ask are shown where somebody sits at a terminal: here nobody does. */
const declarations: ReadonlyArray<Tool.AnyDeclaration> = [
  ApplyPatch.ApplyPatch,
  Bash.Bash,
  Build.Build,
  EditFile.EditFile,
  Glob.Glob,
  Grep.Grep,
  KillTask.KillTask,
  ListDir.ListDir,
  ListTasks.ListTasks,
  Monitor.Monitor,
  ReadFile.ReadFile,
  ReadOutput.ReadOutput,
  TaskOutput.TaskOutput,
  TodoWrite.TodoWrite,
  WaitTasks.WaitTasks,
  WriteFile.WriteFile
]

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })

describe("list --json", () => {
  it("is an array of tools whose schemas are JSON Schema 2020-12, each of which compiles", async () => {
    const { stdout, status } = await Program.toolstream(["list", "--json"])
    assert.strictEqual(status, 0)
    const tools: ReadonlyArray<Listed> = JSON.parse(stdout)
    assert.deepStrictEqual(
      tools.map(({ name }) => name).toSorted(),
      declarations.map(({ toolName }) => toolName).toSorted()
    )
    for (const tool of tools) {
      assert.hasAllKeys(tool, ["name", "title", "description", ...schemas, "hints", "origin"])
      assert.hasAllKeys(tool.hints, ["readOnly", "destructive", "idempotent", "openWorld"])
      for (const key of schemas) {
        assert.isTrue(ajv.validateSchema(tool[key]), `${tool.name} ${key}: ${ajv.errorsText()}`)
        ajv.compile(tool[key])
      }
      assert.strictEqual(tool.parametersSchema["type"], "object", "no reference at the root")
    }
  })

  describe.each(declarations.map((declaration) => [declaration.toolName, declaration] as const))(
    "%s",
    (_, declaration) => {
      const erased = ErasedTool.fromImplementation(declaration, { execute: () => ToolStream.fromEffect(Effect.never) })
      const schema = erased.descriptor.parametersSchema
      const validate = ajv.compile(schema)
      const properties: Readonly<Record<string, unknown>> = { ...(schema["properties"] as object) }

      it.effect.prop(
        "accepts what decodes, and refuses what was changed so that it does not",
        { parameters: Arbitrary.schema(declaration.parametersSchema) },
        ({ parameters }) =>
          Effect.gen(function* () {
            const valid = JSON.parse(JSON.stringify(yield* erased.encodeParameters(parameters))) as Record<
              string,
              unknown
            >
            assert.isTrue(validate(valid), JSON.stringify(validate.errors))
            const refused = (changed: unknown) =>
              Effect.gen(function* () {
                assert.isFalse(validate(changed), JSON.stringify(changed))
                yield* Effect.flip(erased.decode(changed))
              })
            yield* refused({ ...valid, unknown_key: 1 })
            for (const key of Object.keys(properties)) yield* refused({ ...valid, [key]: [["no type of any of them"]] })
            for (const key of (schema["required"] ?? []) as ReadonlyArray<string>) {
              yield* refused(Object.fromEntries(Object.entries(valid).filter(([name]) => name !== key)))
            }
            yield* refused([valid])
          })
      )
    }
  )
})
