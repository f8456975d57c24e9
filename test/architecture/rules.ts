/**
 * The rules of the house, as functions from a tree of files to what breaks them.
 *
 * They read nothing themselves: the test applies them to the real tree, and to small trees that break one rule each.
 * A breach is one line, `file: what is wrong`, and says what to do where that is not obvious.
 */
import { isBuiltin } from "node:module"
import { area, code, imports, importsComputed, lines, type Source } from "./source.ts"

export type Tree = ReadonlyArray<Source>
export type Breach = string

/** Whose word on its stability Effect gives for an import specifier: `stable`, `unstable`, `experimental`. */
export type Stability = (specifier: string) => string | undefined

/** Programs: they may use `node:*` because nothing imports them. */
export const entryPoints: ReadonlyArray<string> = ["layers/cli/main.ts"]

/** The only files that re-export others. They are for readers outside of the package; nothing inside imports them. */
export const barrels: ReadonlyArray<string> = ["src/index.ts", "layers/testing/index.ts"]

const maxLines = 600

/** Which areas an area may import from. */
const below: Readonly<Record<string, ReadonlyArray<string>>> = {
  src: ["src"],
  tools: ["src", "tools"],
  layers: ["src", "tools", "layers"]
}

const isProduct = (file: string) => area(file) in below

const isEffect = (specifier: string) => specifier === "effect" || specifier.startsWith("effect/")

/** `@scope/name/leaf` is of the package `@scope/name`, `name/leaf` of `name`. */
const packageOf = (specifier: string) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/")

/** `ApplyPatch.ts`, `apply-patch/` and `apply_patch/` are one unit. */
const unitName = (name: string) =>
  name
    .replace(/\.ts$/, "")
    .replace(/[^a-z0-9]/gi, "")
    .toLowerCase()

const unit = (file: string) => unitName(file.split("/")[1] ?? "")

/** One breach for every import for which `judge` has a word. */
const eachImport =
  (judge: (source: Source, specifier: string, target: string | undefined) => string | undefined) =>
  (tree: Tree): ReadonlyArray<Breach> =>
    tree.flatMap((source) =>
      imports(source).flatMap(({ specifier, target }) => {
        const breach = judge(source, specifier, target)
        return breach === undefined ? [] : [`${source.file}: imports ${specifier}: ${breach}`]
      })
    )

/** One breach for every file for which `judge` has a word. */
const eachFile =
  (judge: (source: Source) => string | undefined) =>
  (tree: Tree): ReadonlyArray<Breach> =>
    tree.flatMap((source) => {
      const breach = judge(source)
      return breach === undefined ? [] : [`${source.file}: ${breach}`]
    })

/** layers → tools → src, arrows only downwards. */
export const floors = eachImport(({ file }, _specifier, target) =>
  isProduct(file) && target !== undefined && !below[area(file)]!.includes(area(target))
    ? `${area(file)} does not know ${area(target)}`
    : undefined
)

/** The core and the tools import Effect; what else they need of the world is a port that a layer answers. */
export const packages = eachImport(({ file }, specifier, target) =>
  ["src", "tools"].includes(area(file)) && target === undefined && !isEffect(specifier) && !isBuiltin(specifier)
    ? "only a layer uses a package; ask through a port"
    : undefined
)

/** A package that a layer uses is declared: what a dependency happens to bring along may be gone tomorrow. */
export const declared = (tree: Tree): ReadonlyArray<Breach> => {
  const manifest = readManifest(tree)
  const known = { ...manifest.dependencies, ...manifest.peerDependencies }
  return eachImport(({ file }, specifier, target) =>
    isProduct(file) && target === undefined && !isBuiltin(specifier) && !(packageOf(specifier) in known)
      ? "not in dependencies or peerDependencies of package.json"
      : undefined
  )(tree)
}

/** The core stands on stable Effect modules. */
export const stableCore = (stability: Stability) =>
  eachImport(({ file }, specifier) =>
    area(file) === "src" && isEffect(specifier) && stability(specifier) !== "stable"
      ? `Effect calls it ${stability(specifier) ?? "nothing"}, the core stands on stable modules`
      : undefined
  )

/** The tools do too, except that they may take paths apart. */
export const stableTools = (stability: Stability) =>
  eachImport(({ file }, specifier) =>
    area(file) === "tools" && isEffect(specifier) && specifier !== "effect/Path" && stability(specifier) !== "stable"
      ? `Effect calls it ${stability(specifier) ?? "nothing"}, tools stand on stable modules and effect/Path`
      : undefined
  )

/** A tool imports no other tool; one that has a folder imports from its own. */
export const loneTools = eachImport(({ file }, _specifier, target) =>
  area(file) === "tools" && target !== undefined && area(target) === "tools" && unit(target) !== unit(file)
    ? "a tool imports no other tool; what they share belongs in src"
    : undefined
)

/** Node is known in `layers/node` and in programs only. */
export const nodeAtTheEdge = eachImport(({ file }, specifier) =>
  isProduct(file) && isBuiltin(specifier) && !file.startsWith("layers/node/") && !entryPoints.includes(file)
    ? "Node's modules are for layers/node and entry points"
    : undefined
)

/** Nothing imports a program: it runs when it is loaded. */
export const programs = eachImport(({ file }, _specifier, target) =>
  isProduct(file) && target !== undefined && entryPoints.includes(target) ? "it is a program" : undefined
)

const worldly =
  /(?<![.\w$])(?:process\s*\??\.|fetch\s*\(|require\s*\(|console\s*\.|navigator\s*\.|document\s*\.|Deno\s*\.|Bun\s*\.|new\s+(?:WebSocket|EventSource|XMLHttpRequest|Worker|BroadcastChannel)\b)/

/** The core reaches for nothing that belongs to a platform, imported or global. */
export const noIO = eachFile((source) => {
  if (area(source.file) !== "src") return undefined
  const found = worldly.exec(code(source))
  if (found !== null) return `uses ${found[0].replace(/[\s.(?]+$/, "")}, but the core does no IO; ask through a port`
  return importsComputed(source) ? "imports a module by a computed name" : undefined
})

/** What stands under `X/internal` is imported from under `X` only, tests that mirror it apart. */
export const internals = eachImport(({ file }, _specifier, target) => {
  const owner = target === undefined ? undefined : /^(.*?)(?:^|\/)internal\//.exec(target)?.[1]
  if (owner === undefined || `${file}/`.startsWith(`${owner}/`) || /^test\/(?:.*\/)?internal\//.test(file))
    return undefined
  return `internal to ${owner}`
})

/**
 * The leaf is imported, not the root or the folder above it: `effect/Effect`, not `effect`. The root takes a program
 * 300 ms to start, and a folder loads all that stands in it. Names of leaves are PascalCase, those of folders are not.
 */
export const leaves = eachImport(({ file }, specifier, target) =>
  isProduct(file) && target === undefined && /^(?:effect|@effect\/[\w-]+)(?:\/[a-z][\w-]*)*$/.test(specifier)
    ? "not a leaf; import the module itself, as in effect/Effect"
    : undefined
)

/** Barrels are for readers outside. */
export const noBarrelInside = (tree: Tree): ReadonlyArray<Breach> => [
  ...eachImport(({ file }, _specifier, target) =>
    isProduct(file) && target !== undefined && (barrels.includes(target) || /(?:^|\/)index\.ts$/.test(target))
      ? "a barrel; import the module itself"
      : undefined
  )(tree),
  ...eachFile(({ file }) =>
    isProduct(file) && /(?:^|\/)index\.ts$/.test(file) && !barrels.includes(file) ? "a barrel" : undefined
  )(tree)
]

/** Types may be mutual, values may not: the order in which modules load would matter. */
export const noCycles = (tree: Tree): ReadonlyArray<Breach> => {
  const graph = new Map(
    tree.map((source) => [
      source.file,
      imports(source).flatMap(({ target, kind }) => (target === undefined || kind !== "value" ? [] : [target]))
    ])
  )
  const breaches: Array<Breach> = []
  const done = new Set<string>()
  const visit = (file: string, trail: ReadonlyArray<string>): void => {
    const from = trail.indexOf(file)
    if (from >= 0) breaches.push(`${file}: a cycle: ${[...trail.slice(from), file].join(" -> ")}`)
    if (from >= 0 || done.has(file)) return
    for (const target of graph.get(file) ?? []) visit(target, [...trail, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return breaches
}

const vague = /^(?:utils?|utilities|helpers?|common|misc)$/i

/** A name says what is in it. */
export const namesThatSay = eachFile(({ file }) => {
  const part = file.split("/").find((name) => vague.test(name.replace(/(?:\.\w+)+$/, "")))
  return part === undefined ? undefined : `"${part}" says nothing about what is in it`
})

/** A file that nobody reads whole is two files. */
export const shortFiles = eachFile(({ file, text }) =>
  (isProduct(file) || area(file) === "test") && file.endsWith(".ts") && lines(text) > maxLines
    ? `${lines(text)} lines, the limit is ${maxLines}`
    : undefined
)

/** A file opens by saying what it is: a comment of its own, not that of its first declaration. */
export const moduleComments = eachFile(({ file, text }) => {
  if (!isProduct(file)) return undefined
  const opening = /^(?:#!.*\n)?\/\*\*[\s\S]*?\*\/[^\S\n]*\n(.*)/.exec(text)
  if (opening === null) return "no module comment"
  return /^(?:export\s+(?:declare|abstract|default|const|class|interface|type|namespace|function|enum)\b|const|class|interface|function)\b/.test(
    opening[1]!
  )
    ? "its first comment belongs to a declaration; leave an empty line after the module comment"
    : undefined
})

/** Node runs the sources as they are, so a relative import names a file. */
export const extensions = eachImport((_source, specifier, target) =>
  target !== undefined && !/\.(?:ts|mts|mjs|json)$/.test(specifier) ? "a relative import ends in .ts" : undefined
)

/** Erasure needs casts; it is in the core, once. */
export const noCasts = eachFile((source) => {
  if (!["tools", "layers"].includes(area(source.file))) return undefined
  const cast = /\bas\s+(?:any|never|unknown\s+as)\b/.exec(code(source))
  if (cast !== null) return `"${cast[0].replace(/\s+/g, " ")}" on line ${lines(source.text.slice(0, cast.index))}`
  return /@ts-(?:ignore|nocheck|expect-error)\b/.exec(source.text)?.[0]
})

/** Whether a module can be imported by its readers, by a name of its own. */
export const isPublic = (file: string): boolean => {
  const parts = file.split("/")
  if (!isProduct(file) || !file.endsWith(".ts") || parts.includes("internal") || file.startsWith("layers/cli/"))
    return false
  // A tool's folder is its own business, except for a file of the tool's name.
  if (parts[0] === "tools" && parts.length > 2) return parts.length === 3 && unitName(parts[1]!) === unitName(parts[2]!)
  return !file.endsWith("/index.ts") || barrels.includes(file)
}

/** The name under which a public module is exported. */
const exportName = (file: string): string => {
  const path = file.replace(/\.ts$/, "")
  if (path === "src/index") return "."
  if (path === "layers/testing/index") return "./testing"
  if (path.startsWith("src/")) return `./${path.slice("src/".length)}`
  if (path.startsWith("layers/testing/")) return `./${path.slice("layers/".length)}`
  return path.startsWith("tools/") ? `./tools/${path.split("/").at(-1)}` : `./${path}`
}

/** The `exports` of package.json that the tree asks for: one entry per public module. */
export const expectedExports = (tree: Tree): Readonly<Record<string, unknown>> => {
  const floor = (name: string) => (name === "." ? 0 : /^\.\/(?:tools|layers|testing)\b/.test(name) ? 2 : 1)
  const entries = tree
    .filter(({ file }) => isPublic(file))
    .map(({ file }) => [exportName(file), file.replace(/\.ts$/, "")] as const)
    .toSorted(([a], [b]) => floor(a) - floor(b) || (a < b ? -1 : 1))
    .map(([name, path]) => [name, { types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` }] as const)
  return { ...Object.fromEntries(entries), "./package.json": "./package.json" }
}

interface Manifest {
  readonly type?: string
  readonly sideEffects?: unknown
  readonly exports?: Readonly<Record<string, unknown>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const readManifest = (tree: Tree): Manifest =>
  JSON.parse(tree.find(({ file }) => file === "package.json")?.text ?? "{}") as Manifest

/** package.json exports what the tree has: an entry for each public module, no wildcard, no target that is not there. */
export const exportsMap = (tree: Tree): ReadonlyArray<Breach> => {
  const expected = expectedExports(tree)
  const actual = readManifest(tree).exports ?? {}
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])]
  const wrong = names.filter((name) => JSON.stringify(expected[name]) !== JSON.stringify(actual[name]))
  const taken = tree.filter(({ file }) => isPublic(file)).map(({ file }) => exportName(file))
  return [
    ...taken
      .filter((name, index) => taken.indexOf(name) !== index)
      .map((name) => `package.json: two files would be exported as ${name}`),
    ...(wrong.length === 0
      ? []
      : [`package.json: "exports" differs in ${wrong.join(", ")}; it should be\n${JSON.stringify(expected, null, 2)}`])
  ]
}

/** The package is ESM, and a bundler may drop what is not used. */
export const esm = (tree: Tree): ReadonlyArray<Breach> => {
  const { sideEffects, type } = readManifest(tree)
  return [
    ...(type === "module" ? [] : [`package.json: "type" should be "module"`]),
    ...(JSON.stringify(sideEffects) === "[]" ? [] : [`package.json: "sideEffects" should be []`])
  ]
}

/** A program that package.json offers is built from a file that exists, and node can run it. */
export const programsExist = (tree: Tree): ReadonlyArray<Breach> =>
  Object.entries(readManifest(tree).bin ?? {}).flatMap(([name, target]) => {
    const file = target.replace(/^\.\/dist\//, "").replace(/\.js$/, ".ts")
    const source = tree.find((source) => source.file === file)
    if (source === undefined) return [`package.json: bin ${name} is built from ${file}, which does not exist`]
    return source.text.startsWith("#!/usr/bin/env node\n")
      ? []
      : [`${file}: no "#!/usr/bin/env node" on its first line`]
  })

/** The re-exports that the tree asks of the core's barrel. */
export const expectedBarrel = (tree: Tree): ReadonlyArray<string> =>
  tree
    .filter(({ file }) => area(file) === "src" && isPublic(file) && file !== "src/index.ts")
    .map(({ file }) => file.replace(/^src\/|\.ts$/g, ""))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((path) => `export * as ${path.split("/").at(-1)} from "./${path}.ts"`)

/** The core's barrel has every public module of the core, as a namespace, and nothing else. */
export const wholeBarrel = (tree: Tree): ReadonlyArray<Breach> => {
  const barrel = tree.find(({ file }) => file === "src/index.ts")
  const expected = expectedBarrel(tree).join("\n")
  const text = barrel?.text.replace(/^\/\*\*[\s\S]*?\*\/\s*/, "").trim()
  return text === expected ? [] : [`src/index.ts: after its module comment it should be\n${expected}`]
}

/** Who asked for what while modules were loaded: files from the root, `effect/Leaf`, or the URL of anything else. */
export type Load = readonly [importer: string, loaded: string]

/** Whatever the core asks for when it is loaded is of the core, or a stable Effect module. */
export const foreignLoads =
  (stability: Stability) =>
  (loads: ReadonlyArray<Load>): ReadonlyArray<Breach> =>
    loads.flatMap(([importer, loaded]) =>
      isEffect(importer) || area(loaded) === "src" || (isEffect(loaded) && stability(loaded) === "stable")
        ? []
        : [`${importer}: loads ${loaded}`]
    )

/** Every rule, by what it demands. */
export const rules = (stability: Stability) =>
  ({
    "layers stand on tools, tools on the core": floors,
    "the core and the tools import no package but effect": packages,
    "a package that is imported is declared": declared,
    "the core imports stable Effect modules only": stableCore(stability),
    "a tool imports stable Effect modules and effect/Path only": stableTools(stability),
    "a tool imports no other tool": loneTools,
    "node:* is for layers/node and programs": nodeAtTheEdge,
    "no file imports a program": programs,
    "the core does no IO": noIO,
    "internal modules are imported by their owner only": internals,
    "imports name a leaf": leaves,
    "no barrel is used inside": noBarrelInside,
    "no cycles among values": noCycles,
    "names say something": namesThatSay,
    "no file is longer than 600 lines": shortFiles,
    "every file opens with a module comment": moduleComments,
    "a relative import ends in .ts": extensions,
    "tools and layers cast nothing": noCasts,
    "package.json exports each public module by name": exportsMap,
    "the package is ESM and free of side effects": esm,
    "the programs of package.json exist": programsExist,
    "the core's barrel is whole": wholeBarrel
  }) satisfies Record<string, (tree: Tree) => ReadonlyArray<Breach>>
