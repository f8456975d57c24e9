import { assert, describe, it } from "@effect/vitest"
import * as GlobPattern from "../../../../layers/node/internal/GlobPattern.ts"

const matches = (pattern: string, path: string) => {
  const glob = GlobPattern.make(pattern)
  return "why" in glob ? glob.why : glob.matches(path)
}

describe("GlobPattern", () => {
  it("follows gitignore: a name at any depth, a path from the start, stars within and across components", () => {
    const yes = [
      ["*.ts", "a/b.ts"],
      ["a?c", "d/aéc"],
      ["/b.ts", "b.ts"],
      ["a/**/b", "a/b"],
      ["a/**/b", "a/x/y/b"],
      ["**", ".x/y"],
      ["src/", "src/a/b"],
      ["./a/*", "a/b"],
      ["[!a-c]", "x/d"],
      ["[]]", "]"],
      ["{a,b/{c,}}/d", "b/c/d"],
      ["\\*", "*"],
      ["\u{1f600}?", "\u{1f600}\u{1f601}"]
    ] as const
    for (const [pattern, path] of yes) assert.strictEqual(matches(pattern, path), true, `${pattern} ${path}`)
    const no = [
      ["*.ts", "a.ts/b"],
      ["/b.ts", "a/b.ts"],
      ["a/*", "a/b/c"],
      ["a[/]b", "a/b"],
      ["a[!x]b", "a/b"],
      ["**/a", "ba"],
      ["\\*", "x"],
      ["a,b", "a"]
    ] as const
    for (const [pattern, path] of no) assert.strictEqual(matches(pattern, path), false, `${pattern} ${path}`)
  })

  it("says what is wrong with a pattern", () => {
    assert.strictEqual(matches("[a", "a"), "it has a [ without a ]")
    assert.strictEqual(matches("{a,b", "a"), "it has a { without a }")
    assert.strictEqual(matches("a}", "a"), "it has a } without a {")
    assert.strictEqual(matches("{".repeat(1000), "a"), "its { } are nested too deeply")
  })

  it("takes time linear in the path, whatever the pattern", () => {
    const started = performance.now()
    assert.strictEqual(matches(`${"*a".repeat(100)}b`, "a".repeat(100_000)), false)
    assert.isBelow(performance.now() - started, 5000)
  })
})
