import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { OutputLines } from "../../../src/OutputLines.ts"
import { Diagnostics, maxKept } from "../../../tools/build/Diagnostics.ts"
import type { Found } from "../../../tools/build/Family.ts"

const read = (lines: ReadonlyArray<string>) => {
  const diagnostics = new Diagnostics()
  for (const line of lines) diagnostics.read(line)
  diagnostics.end()
  return diagnostics
}

const logs = path.resolve(import.meta.dirname, "../../fixtures/build")

/** What a recorded log says, as `build` reads it. */
const recorded = (name: string) => {
  const lines: Array<string> = []
  const output = new OutputLines(2_000, (line) => lines.push(line))
  output.write(fs.readFileSync(path.join(logs, name)))
  output.end()
  return read(lines).kept()
}

const short = ({ code, column, file, line, message, severity, source }: Found): string =>
  `${[file, line, column].filter((part) => part !== undefined).join(":")} ${severity}${code === undefined ? "" : ` ${code}`} ${source}: ${message}`

const told = (name: string) => recorded(name).map(short)

describe("diagnostics of recorded logs", () => {
  const ofTsc = [
    "a.ts:1:7 error TS2322 tsc: Type 'string' is not assignable to type 'number'.",
    "a.ts:3:21 error TS2322 tsc: Type 'string' is not assignable to type 'number'.",
    "a.ts:4:28 error TS2741 tsc: Property 'c' is missing in type '{}' but required in type '{ c: number; }'."
  ]
  it("tsc, plain", () => assert.deepStrictEqual(told("tsc-plain.txt"), ofTsc))
  it("tsc, pretty, in colours", () => assert.deepStrictEqual(told("tsc-pretty.txt"), ofTsc))

  it("tsc explains in indented lines", () => {
    const found = read([
      "src/a.ts(2,3): error TS2345: Argument of type 'A' is not assignable to parameter of type 'B'.",
      "  Property 'b' is missing in type 'A' but required in type 'B'.",
      "",
      "  Not of it."
    ]).kept()
    assert.deepStrictEqual(found.map(short), [
      "src/a.ts:2:3 error TS2345 tsc: Argument of type 'A' is not assignable to parameter of type 'B'.\n" +
        "Property 'b' is missing in type 'A' but required in type 'B'."
    ])
  })

  it("eslint, stylish", () =>
    assert.deepStrictEqual(told("eslint-stylish.txt"), [
      "/home/dev/app/src/index.js:1:7 error no-unused-vars eslint: 'x' is assigned a value but never used",
      "/home/dev/app/src/index.js:3:1 warning no-console eslint: Unexpected console statement",
      "/home/dev/app/src/index.js:12:10 error eslint: Parsing error: Unexpected token }",
      "/home/dev/app/src/other file.ts:4:3 error @typescript-eslint/no-floating-promises eslint: Promises must be awaited"
    ]))

  it("eslint, unix", () =>
    assert.deepStrictEqual(told("eslint-unix.txt"), [
      "/home/dev/app/src/index.js:1:7 error no-unused-vars eslint: 'x' is assigned a value but never used.",
      "/home/dev/app/src/index.js:3:1 warning no-console eslint: Unexpected console statement.",
      "/home/dev/app/src/index.js:12:10 error eslint: Parsing error: Unexpected token }"
    ]))

  it("gcc and its linker", () =>
    assert.deepStrictEqual(told("gcc.txt"), [
      "main.c:2:16 error gcc: expected ‘;’, ‘,’ or ‘)’ before ‘{’ token",
      "inc.c:1:10 error gcc: no.h: No such file or directory",
      "l.c:1:36 warning -Wunused-variable gcc: unused variable ‘unused’",
      "l.c error ld: undefined reference to `foo'",
      "l.c:1:36 error -Werror=unused-variable gcc: unused variable ‘unused’",
      "t.cc:2:26 error gcc: ‘struct A<int>’ has no member named ‘y’",
      "t.cc:2:38 error gcc: ‘string’ is not a member of ‘std’",
      "t.cc:1:1 note gcc: ‘std::string’ is defined in header ‘<string>’; did you forget to ‘#include <string>’?",
      "/home/dev/c/m.c:3 error ld: undefined reference to `foo'"
    ]))

  it("clang", () =>
    assert.deepStrictEqual(told("clang.txt"), [
      "main.c:1:10 error gcc: 'nothere.h' file not found",
      "src/a.cpp:12:9 warning -Wunused-variable gcc: unused variable 'x'",
      "src/a.cpp:14:5 error -Werror,-Wfoo gcc: no matching function for call to 'f'",
      "src/a.cpp:3:6 note gcc: candidate function not viable: requires 1 argument, but 0 were provided"
    ]))

  it("cargo, for people and short", () => {
    assert.deepStrictEqual(told("cargo.txt"), [
      "src/main.rs:4:7 error E0308 rustc: mismatched types",
      "src/main.rs:1:4 note rustc: function defined here",
      "src/main.rs:5:5 error E0425 rustc: cannot find function `g` in this scope"
    ])
    assert.deepStrictEqual(told("cargo-short.txt"), [
      "src/main.rs:4:7 error E0308 rustc: mismatched types: expected `i32`, found `&str`",
      "src/main.rs:5:5 error E0425 rustc: cannot find function `g` in this scope"
    ])
  })

  it("cargo test: a warning, and the panic of a test with its message", () =>
    assert.deepStrictEqual(told("cargo-test.txt"), [
      "src/main.rs:1:17 warning rustc: unused variable: `x`",
      "src/main.rs:3:10 error rustc: assertion `left == right` failed\nleft: 1\nright: 2"
    ]))

  it("go: the compiler, vet, modules, and the log of a failing test", () =>
    assert.deepStrictEqual(told("go.txt"), [
      "./main.go:5:2 error go: undefined: foo",
      './main.go:9:15 error go: cannot use "a" (untyped string constant) as int value in argument to f',
      "./main.go:10:4 error go: not enough arguments in call to f\nhave ()\nwant (int)",
      './main.go:3:8 error go: "os" imported and not used',
      "sub/x.go:4:2 error go: undefined: bar",
      "go.mod:5 error go: unknown directive: foo",
      "add_test.go:8 error go: Add(1, 2) = 4, want 3\nand a second line"
    ]))

  it("pytest: a failure is told at its place, in the long form and in the short one", () => {
    const known = [
      "/home/dev/py/test_mod.py:17 error pytest: fixture 'nofixture' not found",
      "test_mod.py:8 error pytest: AssertionError: assert 1 == 2",
      "test_mod.py:5 error pytest: ZeroDivisionError: division by zero",
      "test_mod.py:15 error pytest: ValueError: no"
    ]
    assert.deepStrictEqual(told("pytest-long.txt"), known)
    assert.deepStrictEqual(
      told("pytest-short.txt"),
      known.map((line) => line.replace("AssertionError: assert", "assert"))
    )
  })

  it("pytest: without tracebacks the summary is told", () =>
    assert.deepStrictEqual(told("pytest-summary.txt"), [
      "test_mod.py error pytest: test_a: assert 1 == 2",
      "test_mod.py error pytest: test_b: ZeroDivisionError: division by zero",
      "test_mod.py error pytest: TestC::test_m: ValueError: no",
      "test_mod.py error pytest: test_fix: failed"
    ]))

  it("pytest: files that cannot be collected", () =>
    assert.deepStrictEqual(told("pytest-collect.txt"), [
      "test_bad.py:1 error pytest: ModuleNotFoundError: No module named 'nosuch'",
      "/home/dev/py/test_syn.py:1 error pytest: SyntaxError: '(' was never closed"
    ]))

  it("python: syntax errors and tracebacks", () =>
    assert.deepStrictEqual(told("python.txt"), [
      "./test_syn.py:1 error python: SyntaxError: '(' was never closed",
      "/home/dev/py/run.py:2 error python: KeyError: 'k'"
    ]))

  it("cmake, and what gcc says in it", () =>
    assert.deepStrictEqual(
      recorded("cmake.txt").map((found) => short(found).split("\n")[0]),
      [
        "CMakeLists.txt:3 error cmake: Cannot find source file:",
        "CMakeLists.txt:3 error cmake: No SOURCES given to target: x",
        "/home/dev/cm/x.c:1:25 error gcc: ‘y’ undeclared (first use in this function)",
        "/home/dev/cm/x.c:1:25 note gcc: each undeclared identifier is reported only once for each function it appears in"
      ]
    ))

  it("make: its own files, and the directory that it has entered", () =>
    assert.deepStrictEqual(
      recorded("make.txt").map((found) => [found.directory, short(found)]),
      [
        ["/home/dev/mk/sub", "x.c:1:11 error gcc: expected declaration specifiers or ‘...’ before ‘{’ token"],
        [undefined, "bad.mk:2 error make: missing separator."]
      ]
    ))
})

describe("diagnostics", () => {
  it("each is told once, and counted once", () => {
    const line = "a.c:1:2: warning: unused variable 'x' [-Wunused-variable]"
    const diagnostics = read([line, "make: nothing", line])
    assert.deepStrictEqual(diagnostics.counts, { error: 0, warning: 1, note: 0 })
    assert.strictEqual(diagnostics.kept().length, 1)
  })

  it("the first ones are kept, errors before warnings, and all are counted", () => {
    const warnings = Array.from({ length: 300 }, (_, n) => `a.c:${n + 1}: warning: w`)
    const errors = Array.from({ length: 150 }, (_, n) => `b.c:${n + 1}: error: e`)
    const diagnostics = read([...warnings, ...errors])
    assert.deepStrictEqual(diagnostics.counts, { error: 150, warning: 300, note: 0 })
    const kept = diagnostics.kept()
    assert.strictEqual(kept.length, maxKept)
    assert.strictEqual(kept.filter(({ severity }) => severity === "error").length, 150)
    assert.deepStrictEqual(
      [kept[0], kept[49], kept[50], kept[199]].map((found) => `${found?.file}:${found?.line}`),
      ["a.c:1", "a.c:50", "b.c:1", "b.c:150"]
    )
  })

  it("what only looks like one is none", () => {
    const { counts } = read([
      "12:30:15: error: not a file",
      "https://example.com:8080/path: error: no line",
      "make: *** [Makefile:2: all] Error 2",
      'error: could not compile `x` (bin "x") due to 2 previous errors',
      "  1:7  error  no file stands above",
      "cc1: all warnings being treated as errors",
      "npm error code 1",
      "1 failed in 0.02s"
    ])
    assert.deepStrictEqual(counts, { error: 0, warning: 0, note: 0 })
  })

  it("positions of any length are integers, messages are bounded", () => {
    const [found] = read([`a.c:${"9".repeat(400)}:1: error: ${"x".repeat(1_500)}`]).kept()
    assert.isTrue(Number.isSafeInteger(found?.line))
    assert.strictEqual(found?.message.length, 1_000)
  })

  it("a line takes time linear in its length, whatever is in it", () => {
    const pieces = [
      ":",
      "(1",
      "1",
      " ",
      "  ",
      ":1",
      ":1:",
      "(1,1",
      "_",
      "=",
      "[",
      " [-W",
      " [Error",
      "E ",
      "a.",
      "/",
      "\t",
      "--> ",
      "- "
    ]
    const heads = [
      "",
      "a",
      "a.go:",
      " TS1 ",
      "thread '",
      "E ",
      "=== ",
      "___ ",
      "CMake Error at ",
      "error: ",
      "FAILED ",
      "  1:1  error  "
    ]
    const lines = heads.flatMap((head) =>
      pieces.flatMap((piece) => ["", "x", "]", ":"].map((end) => head + piece.repeat(2_000 / piece.length) + end))
    )
    const start = performance.now()
    read(["=== FAILURES ===", ...lines, "=== end ===", ...lines, "undefined reference", ...lines])
    // 2,700 lines of 2,000: some 0.02 ms each. What is quadratic takes 100 times as long.
    assert.isBelow(performance.now() - start, 5_000)
  })
})
