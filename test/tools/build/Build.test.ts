import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import * as NodeWorkspaceFiles from "../../../layers/node/WorkspaceFiles.ts"
import * as LawCheck from "../../../layers/testing/LawCheck.ts"
import * as ScriptedProcess from "../../../layers/testing/ScriptedProcess.ts"
import type { Processes } from "../../../src/Processes.ts"
import type * as Tool from "../../../src/Tool.ts"
import type { ToolContent } from "../../../src/ToolContent.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { Build, type Built, layer } from "../../../tools/build/Build.ts"
import type { NoBuildFound } from "../../../tools/build/Project.ts"
import { FileUnreachable, WorkspaceFiles } from "../../../src/WorkspaceFiles.ts"
import * as Workspace from "../../layers/node/Workspace.ts"

type Parameters = Tool.Parameters<typeof Build>

const root = path.resolve(import.meta.dirname, "../../..")
const tsc = path.join(root, "node_modules/.bin/tsc")

const isError = Build.isError as ((result: Built) => boolean) | undefined
const toContent = Build.toContent as ((result: Built) => ReadonlyArray<ToolContent>) | undefined
const content = (result: Built) =>
  toContent?.(result).map((item) => (item.type === "text" ? item.text : item.type)) ?? []

const over = (processes: Layer.Layer<Processes>) =>
  Layer.provide(layer, [NodeWorkspaceFiles.layer, Path.layer, processes])

/** Builds in a workspace that has these files. */
const build = Effect.fnUntraced(function* (
  tree: Workspace.Tree,
  parameters: Parameters = {},
  processes: Layer.Layer<Processes> = NodeProcesses.layer
) {
  const { root } = yield* Workspace.make(tree)
  const lines: Array<string> = []
  const run = Effect.gen(function* () {
    const { execute } = yield* Build
    return yield* ToolStream.runForEachArray(execute(parameters), (chunk) =>
      Effect.sync(() => {
        for (const { line } of chunk) lines.push(line)
      })
    )
  })
  const result = yield* Effect.provide(run, Workspace.within(root, over(processes)))
  return { result, lines, root }
})

/** The command that is found. */
const found = (tree: Workspace.Tree, parameters?: Parameters) =>
  Effect.map(
    build(
      tree,
      parameters,
      ScriptedProcess.layer(() => ScriptedProcess.exits(0))
    ),
    ({ result }) => result.command
  )

const places = ({ diagnostics }: Built) =>
  diagnostics.map(({ code, file, line, severity }) => [file, line, severity, code].filter((part) => part !== undefined))

const has = (program: string, ...args: ReadonlyArray<string>) =>
  spawnSync(program, args.length === 0 ? ["--version"] : args, { stdio: "ignore" }).status === 0

/** A test on a tool that may not be on the machine: then it is skipped, and says so by its name. */
const withTool = (program: string, ...args: ReadonlyArray<string>) => (has(program, ...args) ? it.live : it.live.skip)

const makefile = (recipe: string) => `all:\n\t${recipe}\n`
const brokenC = "int main(void) {\n  int unused;\n  return y;\n}\n"

describe("build, of real projects that fail", () => {
  it.live(
    "npm and tsc: the script is found, places are relative to the workspace",
    () =>
      Effect.gen(function* () {
        const { lines, result } = yield* build(
          {
            "app/package.json": JSON.stringify({ scripts: { build: `${tsc} -p .` } }),
            "app/tsconfig.json": JSON.stringify({
              compilerOptions: { strict: true, noEmit: true, types: [] },
              files: ["src/a.ts"]
            }),
            "app/src/a.ts": 'export const x: number = "a"\n'
          },
          { cwd: "app" }
        )
        assert.strictEqual(result.command, "npm run build")
        assert.deepStrictEqual(places(result), [["app/src/a.ts", 1, "error", "TS2322"]])
        assert.deepStrictEqual([result.errors, result.warnings], [1, 0])
        assert.isTrue(isError?.(result))
        assert.isTrue(lines.some((line) => line.includes("TS2322")))
        assert.include(content(result)[0], "app/src/a.ts:1:14: error TS2322: Type 'string'")
        assert.include(content(result).at(-1), "1 error, 0 warnings.")
      }),
    30_000
  )

  withTool("gcc")("make and gcc, in a directory that make enters", () =>
    Effect.gen(function* () {
      const { result, root } = yield* build({
        Makefile: makefile("$(MAKE) -C sub"),
        "sub/Makefile": makefile("gcc -Wall -c a.c"),
        "sub/a.c": brokenC
      })
      assert.strictEqual(result.command, "make")
      assert.deepStrictEqual(result.exit, { _tag: "Exited", code: 2 })
      assert.includeDeepMembers(places(result), [
        ["sub/a.c", 3, "error"],
        ["sub/a.c", 2, "warning", "-Wunused-variable"]
      ])
      assert.isFalse(result.diagnostics.some(({ file }) => file.startsWith(root)))
    })
  )

  withTool("cmake")(
    "cmake: its own failures, and those of the compiler, whose paths are absolute",
    () =>
      Effect.gen(function* () {
        const lists = (file: string) =>
          `cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\nadd_custom_target(x ALL COMMAND gcc -c \${CMAKE_SOURCE_DIR}/${file} -o x.o)\n`
        const compiled = yield* build({ "CMakeLists.txt": lists("x.c"), "x.c": "int main(void) { return y; }\n" })
        assert.strictEqual(compiled.result.command, "cmake -S . -B build && cmake --build build")
        assert.deepInclude(places(compiled.result), ["x.c", 1, "error"])
        const configured = yield* build({
          "CMakeLists.txt": 'cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\nmessage(FATAL_ERROR "no luck")\n'
        })
        assert.deepStrictEqual(places(configured.result), [["CMakeLists.txt", 3, "error"]])
        assert.strictEqual(configured.result.diagnostics[0]?.message, "no luck")
      }),
    30_000
  )

  withTool("cargo")(
    "cargo",
    () =>
      Effect.gen(function* () {
        const { result } = yield* build({
          "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
          "src/main.rs": 'fn main() {\n    let n: i32 = "a";\n}\n'
        })
        assert.strictEqual(result.command, "cargo build")
        assert.deepStrictEqual(places(result)[0], ["src/main.rs", 2, "error", "E0308"])
        assert.strictEqual(result.diagnostics[0]?.source, "rustc")
      }),
    30_000
  )

  withTool("go", "version")(
    "go",
    () =>
      Effect.gen(function* () {
        const { result } = yield* build({
          "go.mod": "module example.com/m\n",
          "main.go": "package main\n\nfunc main() { foo() }\n"
        })
        assert.deepStrictEqual(places(result), [["main.go", 3, "error"]])
      }),
    30_000
  )

  withTool("python3")("python: all files are compiled, and nothing is left in the workspace", () =>
    Effect.gen(function* () {
      const { result } = yield* build({
        "pyproject.toml": '[project]\nname = "x"\n',
        "x/bad.py": "def f(\n",
        "x/good.py": "y = 1\n",
        ".venv/worse.py": "def g(\n"
      })
      assert.deepStrictEqual(places(result), [["x/bad.py", 1, "error"]])
      assert.isTrue(isError?.(result))
      const after = yield* build({ "pyproject.toml": "", "y.py": "y = 1\n" }, { command: "true" })
      assert.deepStrictEqual(places(after.result), [])
    })
  )

  withTool("python3", "-c", "import pytest")(
    "pytest, where the project configures it",
    () =>
      Effect.gen(function* () {
        const { result } = yield* build({
          "pyproject.toml": "[tool.pytest.ini_options]\n",
          "test_x.py": "def test_x():\n    assert 1 + 1 == 3\n"
        })
        assert.strictEqual(result.command, "python3 -m pytest -q")
        assert.deepStrictEqual(places(result), [["test_x.py", 2, "error"]])
        assert.strictEqual(result.diagnostics[0]?.message, "AssertionError: assert (1 + 1) == 3")
      }),
    30_000
  )

  it.live("a command that is given is run in the folder, and one that succeeds shows no log", () =>
    Effect.gen(function* () {
      const { lines, result } = yield* build(
        { "d/x": "" },
        { command: "echo \"$PWD\" | sed 's|.*/||'; echo 'x:1:2: warning: w'", cwd: "d" }
      )
      assert.deepStrictEqual(lines, ["d", "x:1:2: warning: w"])
      assert.isFalse(isError?.(result))
      assert.deepStrictEqual([result.errors, result.warnings, result.omittedLines], [0, 1, 0])
      assert.strictEqual(content(result)[0], "d/x:1:2: warning: w")
      assert.strictEqual(content(result).length, 2)
    })
  )

  it.live("C30: a command of more than 128 KiB runs", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* build({}, { command: `: ${"x".repeat(200_000)}; echo end` })).lines, ["end"])
    })
  )

  it.live("C40, C42: the log is told line by line, its end is bounded and returned", () =>
    Effect.gen(function* () {
      const { lines, result } = yield* build({}, { command: "seq 1 1000; printf 'busy\\rdone\\r\\n\\ntail'; exit 3" })
      assert.deepStrictEqual([lines.length, lines.at(-2), lines.at(-1)], [1_002, "done", "tail"])
      assert.deepStrictEqual([result.tail.length, result.omittedLines, result.tail.at(-1)], [100, 902, "tail"])
      assert.include(content(result).at(-1), "902 lines of the log are omitted.")
      assert.strictEqual(result.spill?.sizeBytes, 3_893 + 16)
      assert.include(content(result).at(-1), `All 3909 bytes: read_output {"handle":"${result.spill?.handle}"}.`)
      assert.isUndefined((yield* build({}, { command: "seq 1 100; exit 3" })).result.spill)
    })
  )
})

describe("build, where it looks", () => {
  const script = (scripts: Readonly<Record<string, string>>, more: object = {}) => JSON.stringify({ scripts, ...more })

  it.live("the scripts of package.json, by the package manager that is used", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* found({ "package.json": script({ test: "t", build: "b" }) }), "npm run build")
      assert.strictEqual(yield* found({ "package.json": script({ test: "t", typecheck: "c" }) }), "npm run typecheck")
      const lock = { "package.json": script({ test: "t" }), "pnpm-lock.yaml": "" }
      assert.strictEqual(yield* found(lock), "pnpm run test")
      const named = { ...lock, "package.json": script({ compile: "c" }, { packageManager: "yarn@4.1.0" }) }
      assert.strictEqual(yield* found(named), "yarn run compile")
    })
  )

  it.live("a package.json that builds nothing does not hide what does", () =>
    Effect.gen(function* () {
      const useless = script({ test: 'echo "Error: no test specified" && exit 1', start: "node ." })
      assert.strictEqual(yield* found({ "package.json": useless, "go.mod": "" }), "go build ./...")
      assert.strictEqual(yield* found({ "package.json": "{", GNUmakefile: "" }), "make")
      assert.strictEqual(yield* found({ "package.json": '{"scripts":[]}', "Cargo.toml": "" }), "cargo build")
    })
  )

  it.live("cmake builds where it was configured", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* found({ "CMakeLists.txt": "", "build/CMakeCache.txt": "" }), "cmake --build build")
    })
  )

  it.live("where there is nothing, the failure says what was looked for", () =>
    Effect.gen(function* () {
      const failure = (yield* Effect.flip(build({ "package.json": "{}", "sub/x": "" }))) as NoBuildFound
      assert.strictEqual(failure._tag, "NoBuildFound")
      assert.include(failure.message, "Looked for: package.json (it has no script build, ")
      assert.include(failure.message, "Cargo.toml, go.mod, Makefile, CMakeLists.txt, pyproject.toml. Give `command`")
    })
  )

  it.live("a folder that is none, or outside of the workspace, is refused", () =>
    Effect.gen(function* () {
      for (const cwd of ["nowhere", "file", "../.."]) {
        const failure = yield* Effect.flip(build({ file: "" }, { command: "true", cwd }))
        assert.strictEqual(failure._tag, "FileUnreachable", cwd)
      }
    })
  )
})

describe("the law holds for build", () => {
  it.effect("over processes that are scripts", () =>
    Effect.gen(function* () {
      const files = Layer.mock(WorkspaceFiles)({
        resolve: (path) =>
          path === "nowhere"
            ? Effect.fail(new FileUnreachable({ path, reason: { _tag: "NotFound", similar: [] } }))
            : Effect.succeed({ path: "/ws", type: "directory" })
      })
      const Script = Schema.toCodecJson(ScriptedProcess.Script)
      const parameters = Arbitrary.map(
        Arbitrary.all({
          script: Arbitrary.schema(ScriptedProcess.Script),
          cwd: Arbitrary.schema(Schema.Literals([".", ".", "nowhere"]))
        }),
        ({ cwd, script }) => ({
          command: JSON.stringify(Schema.encodeSync(Script)({ exit: { _tag: "Exited", code: 2 }, ...script })),
          cwd
        })
      )
      const read = Schema.decodeUnknownSync(Script)
      const processes = ScriptedProcess.layer(({ args }) => read(JSON.parse(args[1]!)))
      const report = yield* LawCheck.check(Build, {
        parameters,
        runs: 8,
        steps: 3,
        seed: 1
      }).pipe(Effect.provide(Layer.provide(layer, [files, Path.layer, processes])))
      assert.isAbove(report.endings["Success"] ?? 0, 0)
      assert.isAbove(report.endings["ToolFailed"] ?? 0, 0)
      assert.isAbove(report.endings["Interrupted (stopped)"] ?? 0, 0)
    })
  )
})
