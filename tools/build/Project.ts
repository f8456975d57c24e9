/**
 * Which command builds the project in a directory: what is looked for, in this
 * order.
 *
 * - `package.json` with a script build, compile, typecheck, type-check, types,
 *   check or test, the first of these, run by the package manager that its field
 *   `packageManager` or a lock file names, else npm;
 * - `Cargo.toml`: `cargo build`;
 * - `go.mod`: `go build ./...`;
 * - `Makefile`: `make`;
 * - `CMakeLists.txt`: configured into `build/`, unless it is, and built there;
 * - `pyproject.toml`: its tests if it configures pytest, else all its files are
 *   compiled. There is nothing to build in most: a wheel says nothing of errors.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { WorkspaceFiles } from "../../src/WorkspaceFiles.ts"

/**
 * There is no build that is known here. Nothing was run.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoBuildFound extends Schema.TaggedError<NoBuildFound>()("NoBuildFound", {
  /** As it is shown. */
  directory: Schema.String,
  /** What was looked for, and, where it is there, what is wrong with it. */
  lookedFor: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return (
      `No build was found in ${this.directory}, and nothing was run. Looked for: ${this.lookedFor.join(", ")}. ` +
      "Give `command`, or as `cwd` the directory of the project."
    )
  }
}

/** Bytes read of a file that says how to build. More is no such file. */
const maxBytes = 1024 * 1024

const scripts = ["build", "compile", "typecheck", "type-check", "types", "check", "test"]

/** What `npm init` writes: it only fails. */
const placeholder = "no test specified"

const Package = Schema.fromJsonString(
  Schema.Struct({
    packageManager: Schema.optionalKey(Schema.Unknown),
    scripts: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
  })
)

const managers: ReadonlyArray<readonly [manager: string, lock: string]> = [
  ["pnpm", "pnpm-lock.yaml"],
  ["yarn", "yarn.lock"],
  ["bun", "bun.lock"],
  ["bun", "bun.lockb"],
  ["npm", "package-lock.json"]
]

/** A part of the answer: the command, or what to say of a file that does not give one. */
type Answer = { readonly command: string } | { readonly missing: string }

type Files = WorkspaceFiles["Service"]

/**
 * The command that builds what is in `directory`, which is resolved.
 *
 * @category constructors
 * @since 0.1.0
 */
export const find = Effect.fnUntraced(function* (files: Files, path: Path.Path, directory: string) {
  const exists = (...names: ReadonlyArray<string>) =>
    files.resolve(path.join(directory, ...names)).pipe(
      Effect.map(({ type }) => type === "file"),
      Effect.catch(() => Effect.succeed(false))
    )
  /** The text of a file; undefined if there is none that can be read. */
  const read = (name: string) =>
    Effect.scoped(
      Effect.flatMap(files.open(path.join(directory, name)), ({ read, size }) => read(0, Math.min(size, maxBytes)))
    ).pipe(
      Effect.map((bytes): string | undefined => new TextDecoder().decode(bytes)),
      Effect.catch(() => Effect.succeed(undefined))
    )

  const looks: ReadonlyArray<Effect.Effect<Answer>> = [
    nodePackage(exists, read),
    whereThere(exists("Cargo.toml"), "Cargo.toml", "cargo build"),
    whereThere(exists("go.mod"), "go.mod", "go build ./..."),
    whereThere(anyOf(exists, ["GNUmakefile", "makefile", "Makefile"]), "Makefile", "make"),
    cmake(exists),
    python(read)
  ]
  const lookedFor: Array<string> = []
  for (const look of looks) {
    const answer = yield* look
    if ("command" in answer) return answer.command
    lookedFor.push(answer.missing)
  }
  return yield* new NoBuildFound({ directory: yield* files.display(directory), lookedFor })
})

type Exists = (...names: ReadonlyArray<string>) => Effect.Effect<boolean>
type Read = (name: string) => Effect.Effect<string | undefined>

const whereThere = (exists: Effect.Effect<boolean>, name: string, command: string): Effect.Effect<Answer> =>
  Effect.map(exists, (there) => (there ? { command } : { missing: name }))

const anyOf = (exists: Exists, names: ReadonlyArray<string>): Effect.Effect<boolean> =>
  Effect.map(
    Effect.forEach(names, (name) => exists(name)),
    (found) => found.includes(true)
  )

const nodePackage = Effect.fnUntraced(function* (exists: Exists, read: Read) {
  const text = yield* read("package.json")
  if (text === undefined) return { missing: "package.json" }
  const decoded = Schema.decodeUnknownResult(Package)(text)
  if (Result.isFailure(decoded)) return { missing: "package.json (it could not be read as one)" }
  const { packageManager, scripts: known = {} } = decoded.success
  const script = scripts.find((name) => {
    const body = Object.hasOwn(known, name) ? known[name] : undefined
    return typeof body === "string" && !body.includes(placeholder)
  })
  if (script === undefined) return { missing: `package.json (it has no script ${scripts.join(", ")})` }
  const named = typeof packageManager === "string" ? packageManager.split("@")[0] : undefined
  for (const [manager, lock] of managers) {
    if (named === manager || (named === undefined && (yield* exists(lock)))) {
      return { command: `${manager} run ${script}` }
    }
  }
  return { command: `npm run ${script}` }
})

const cmake = Effect.fnUntraced(function* (exists: Exists) {
  if (!(yield* exists("CMakeLists.txt"))) return { missing: "CMakeLists.txt" }
  const configured = yield* exists("build", "CMakeCache.txt")
  return { command: configured ? "cmake --build build" : "cmake -S . -B build && cmake --build build" }
})

const python = Effect.fnUntraced(function* (read: Read) {
  const text = yield* read("pyproject.toml")
  if (text === undefined) return { missing: "pyproject.toml" }
  // Virtual environments and caches are not of the project. Nor is there anything to leave in it.
  return text.includes("[tool.pytest")
    ? { command: "python3 -m pytest -q" }
    : {
        command:
          "PYTHONPYCACHEPREFIX=$(mktemp -d) && export PYTHONPYCACHEPREFIX && trap 'rm -rf \"$PYTHONPYCACHEPREFIX\"' EXIT && " +
          "python3 -m compileall -q -x '/[.]|/(venv|env|node_modules|build|dist)/' ."
      }
})
