/**
 * Writes what was measured where it is read: the figures, the pictures, and the page that is made of them.
 */
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { toSvg } from "./curves/Svg.ts"
import { type Results, toMarkdown } from "./document.ts"

const root = path.resolve(import.meta.dirname, "../..")
const page = path.join(root, "docs/benchmarks.md")
const folder = path.join(root, "docs/benchmarks")
const figures = path.join(folder, "results.json")

/** What the last whole run found. */
export const read = (): Results => JSON.parse(fs.readFileSync(figures, "utf8"))

export const write = (results: Results): void => {
  const template = fs.readFileSync(path.join(import.meta.dirname, "template.md"), "utf8")
  const text = toMarkdown(results, template)
  const drawn = results.curves.map((curve) => [`${curve.id}.svg`, toSvg(curve)] as const)
  fs.rmSync(folder, { recursive: true, force: true })
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(figures, JSON.stringify(results, rounded, 2))
  for (const [name, picture] of drawn) fs.writeFileSync(path.join(folder, name), picture)
  fs.writeFileSync(page, text)
  // As all other files of their kind.
  child_process.execFileSync(path.join(root, "node_modules/.bin/oxfmt"), [page, figures], {
    cwd: root,
    stdio: ["ignore", "ignore", 2]
  })
}

/** No clock knows more digits. */
const rounded = (_: string, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(6)) : value)
