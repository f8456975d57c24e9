import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as Ripgrep from "../../layers/node/Ripgrep.ts"
import type * as Tool from "../../src/Tool.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Glob from "../../tools/Glob.ts"
import * as Workspace from "../layers/node/Workspace.ts"

const glob = (root: string, pattern: string, rest: Omit<Tool.Parameters<typeof Glob.Glob>, "pattern"> = {}) =>
  Effect.flatMap(Glob.Glob, ({ execute }) => ToolStream.runResult(execute({ pattern, ...rest }))).pipe(
    Effect.provide(
      Workspace.within(
        root,
        Layer.provide(
          Glob.layer,
          Layer.merge(NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }), Ripgrep.layer)
        )
      )
    )
  )

const found = (...parameters: Parameters<typeof glob>) => Effect.map(glob(...parameters), ({ files }) => files)

const toContent = Glob.Glob.toContent as Tool.ToContent<Glob.Found>

const shown = (found: Glob.Found) =>
  toContent(found).map((content) => (content.type === "text" ? content.text : content.type))

const tree = (...names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, "x"]))

describe("glob", () => {
  it.live("finds files by name at any depth, and by path from where it starts", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(tree("a.ts", "src/b.ts", "src/c/d.ts", "src/c/e.js"))
      assert.deepStrictEqual(yield* found(root, "*.ts"), ["a.ts", "src/b.ts", "src/c/d.ts"])
      assert.deepStrictEqual(yield* found(root, "src/*.ts"), ["src/b.ts"])
      assert.deepStrictEqual(yield* found(root, "./src/**"), ["src/b.ts", "src/c/d.ts", "src/c/e.js"])
      assert.deepStrictEqual(yield* found(root, "**/*.{js,md}"), ["src/c/e.js"])
      assert.deepStrictEqual(yield* found(root, "c/?.ts", { path: "src" }), ["src/c/d.ts"])
      assert.deepStrictEqual(yield* found(root, `${root}/src/*.ts`), ["src/b.ts"])
      assert.deepStrictEqual(shown(yield* glob(root, "*.md")), ["No files match."])
      assert.deepStrictEqual(shown(yield* glob(root, "src/c")), [
        "No files match.\nsrc/c is a directory: use src/c/** for the files in it."
      ])
      assert.match((yield* Effect.flip(glob(root, "{a"))).message, /a { without a }/)
      assert.match((yield* Effect.flip(glob(root, "*", { path: "a.ts" }))).message, /is a file, not a directory/)
      assert.strictEqual(Schema.decodeUnknownExit(Glob.Glob.parametersSchema)({ pattern: "" })._tag, "Failure")
    })
  )

  it.live("C57: each odd name is found once", () =>
    Effect.gen(function* () {
      const names = ["-rf", "--pre=sh", "new\nline.txt", "a b", "q'q", "$(touch PWN)"]
      const { root } = yield* Workspace.make(tree(...names))
      fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x2e])]), "")
      fs.mkdirSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xfe])]))
      fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xfe]), Buffer.from("/in")]), "")
      const all = ["$(touch PWN)", "--pre=sh", "-rf", "\\xfe/in", "\\xff.", "a b", "new\\x0aline.txt", "q'q"]
      assert.deepStrictEqual(yield* found(root, "**"), all)
      assert.deepStrictEqual(yield* found(root, "*", { path: "\\xfe" }), ["\\xfe/in"])
      for (const name of all) assert.deepStrictEqual(yield* found(root, name), [name])
    })
  )

  it.live("C60: brackets in names are names where such a file or folder exists", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(tree("app/[id]/page.tsx", "app/i/page.tsx", "app/{x,y}/z"))
      assert.deepStrictEqual(yield* found(root, "app/[id]/page.tsx"), ["app/[id]/page.tsx"])
      assert.deepStrictEqual(yield* found(root, "app/[id]/*.tsx"), ["app/[id]/page.tsx"])
      assert.deepStrictEqual(yield* found(root, "app/[ij]/*.tsx"), ["app/i/page.tsx"])
      assert.deepStrictEqual(yield* found(root, "app/{x,y}/*"), ["app/{x,y}/z"])
      assert.deepStrictEqual(yield* found(root, "app/**/page.tsx"), ["app/[id]/page.tsx", "app/i/page.tsx"])
    })
  )

  it.live(
    "C101: ignored files are left out and counted, a literal name finds them, with and without a repository",
    () =>
      Effect.gen(function* () {
        const { root } = yield* Workspace.make({
          ...tree("dist/app.js", "a.log", "sub/keep.log", "sub/b.ts", "b.ts", "src/x.js"),
          ".gitignore": "\ufeffdist/\n*.log\n!keep.log\n",
          "sub/.gitignore": "b.ts\n"
        })
        for (let repository = 0; repository < 2; repository++) {
          assert.deepStrictEqual(yield* found(root, "*.js"), ["src/x.js"])
          assert.deepStrictEqual(yield* found(root, "*.log"), ["sub/keep.log"])
          assert.deepStrictEqual(yield* found(root, "b.ts", { path: "sub" }), ["sub/b.ts"])
          assert.deepStrictEqual(yield* found(root, "**/b.ts"), ["b.ts"])
          assert.deepStrictEqual(yield* found(root, "dist/app.js"), ["dist/app.js"])
          assert.deepStrictEqual(yield* found(root, "*", { path: "dist" }), ["dist/app.js"])
          const wild = yield* glob(root, "dist/**")
          assert.deepStrictEqual([wild.total, wild.ignored], [0, 1])
          assert.match(shown(wild)[0]!, /^No files match\.\n1 matching file was left out because ignore files say so/)
          assert.deepStrictEqual((yield* glob(root, "src/*")).ignored, 0)
          execFileSync("git", ["init", "-q", root])
        }
      })
  )

  it.live("C102: hidden files are found, the contents of .git are not", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(tree(".github/workflows/ci.yml", ".env", ".git/x.yml", "a.yml"))
      assert.deepStrictEqual(yield* found(root, ".github/**"), [".github/workflows/ci.yml"])
      assert.deepStrictEqual(yield* found(root, ".github/workflows/*.yml"), [".github/workflows/ci.yml"])
      assert.deepStrictEqual(yield* found(root, "**/*.yml"), [".github/workflows/ci.yml", "a.yml"])
      assert.deepStrictEqual(yield* found(root, "**"), [".env", ".github/workflows/ci.yml", "a.yml"])
    })
  )

  it.live("C103: the first of 3,000 files, the same each time, and how many there are", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 3000 }, (_, index) => `d${index % 7}/f${(index * 7919) % 3000}`)
      const { root } = yield* Workspace.make(tree(...names))
      const first = yield* glob(root, "**", { limit: 100 })
      assert.deepStrictEqual(first.files, names.toSorted().slice(0, 100))
      assert.strictEqual(shown(first)[1], "Showing 100 of 3000 files. Narrow pattern or path.")
      for (let run = 0; run < 2; run++) assert.deepStrictEqual(yield* glob(root, "**", { limit: 100 }), first)
    })
  )

  it.live("C97: what cannot be listed is counted beside what was found", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make(tree("a.txt"))
      const engine = path.join(top, "engine")
      fs.writeFileSync(
        engine,
        `#!/bin/sh\nprintf './a.txt\\0'; echo 'rg: ./no: Permission denied (os error 13)' >&2; exit 2\n`,
        { mode: 0o755 }
      )
      const layer = Layer.provide(
        Glob.layer,
        Layer.merge(
          NodeWorkspaceFiles.layerWith({ state: path.join(top, "state") }),
          Ripgrep.layerWith({ program: engine })
        )
      )
      const partly = yield* Effect.flatMap(Glob.Glob, ({ execute }) =>
        ToolStream.runResult(execute({ pattern: "**/*.txt" }))
      ).pipe(Effect.provide(Workspace.within(root, layer)))
      assert.deepStrictEqual(shown(partly), ["a.txt", "Incomplete: 1 not readable: no (permission denied)."])
    })
  )

  const component = Schema.Literals(["a", "b.ts", ".c", "dd", "[x]", "é"])
  const part = Schema.Literals(["*", "**", "?", "*.ts", ".*", "[ab]*", "{dd,a}", "a", "dd"])
  it.live.prop(
    "agrees with a plain walk of the tree",
    {
      names: Arbitrary.array(Arbitrary.array(Arbitrary.schema(component), { minLength: 1, maxLength: 3 }), {
        maxLength: 8
      }),
      parts: Arbitrary.array(Arbitrary.schema(part), { minLength: 1, maxLength: 3 })
    },
    ({ names, parts }) =>
      Effect.gen(function* () {
        const { root } = yield* Workspace.make()
        for (const name of names) {
          // A file may stand where a folder would have to.
          const file = path.join(root, ...name)
          const folders = name.slice(0, -1).map((_, depth) => path.join(root, ...name.slice(0, depth + 1)))
          if (folders.some((folder) => fs.existsSync(folder) && fs.statSync(folder).isFile()) || fs.existsSync(file))
            continue
          fs.mkdirSync(path.dirname(file), { recursive: true })
          fs.writeFileSync(file, "")
        }
        const pattern = parts.join("/")
        const walked = fs
          .readdirSync(root, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
        const literal = walked.includes(pattern)
        const expected = literal ? [pattern] : walked.filter((file) => matches(parts, file.split("/"))).toSorted()
        assert.deepStrictEqual(yield* found(root, pattern), expected)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 60 }, timeout: 30_000 }
  )
})

/** Component by component, by trying everything. */
const matches = (parts: ReadonlyArray<string>, names: ReadonlyArray<string>): boolean => {
  if (parts.length === 1 && parts[0] !== "**") return one(parts[0]!, names.at(-1)!)
  return from(parts, names)
}

const from = ([part, ...rest]: ReadonlyArray<string>, names: ReadonlyArray<string>): boolean =>
  part === undefined
    ? names.length === 0
    : part === "**"
      ? rest.length === 0
        ? names.length > 0
        : names.some((_, index) => from(rest, names.slice(index)))
      : names.length > 0 && one(part, names[0]!) && from(rest, names.slice(1))

const one = (part: string, name: string): boolean => {
  const [first] = name
  switch (part) {
    case "*":
      return true
    case "?":
      return Array.from(name).length === 1
    case "*.ts":
      return name.endsWith(".ts")
    case ".*":
      return first === "."
    case "[ab]*":
      return first === "a" || first === "b"
    case "{dd,a}":
      return name === "dd" || name === "a"
    default:
      return name === part
  }
}
