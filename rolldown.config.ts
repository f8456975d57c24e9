/**
 * How the command line becomes a few files: docs/decisions/0025 and 0028.
 */
import { isBuiltin } from "node:module"
import { defineConfig, type Plugin } from "rolldown"

/**
 * What an `import` of a module of Node costs: Node loads all that it exports, also what it would load on demand (streams
 * and promises for `node:fs`, 8 ms; the web's cryptography for `node:crypto`, 9 ms). So the bundle has no such imports. A
 * function loads its module when it is called, anything else when the importing module is run.
 */
const builtins: Plugin = {
  name: "builtins",
  // A `require` has the module itself. The runtime of the bundler needs `node:module` first.
  resolveId: (id, _importer, { kind }) =>
    kind === "import-statement" && isBuiltin(id) && id !== "node:module"
      ? { id: `\0builtin:${id}`, moduleSideEffects: false }
      : undefined,
  load: (id) => {
    if (!id.startsWith("\0builtin:")) return undefined
    const name = id.slice("\0builtin:".length)
    const exports = Object.getOwnPropertyDescriptors(process.getBuiltinModule(name) as object)
    const lines = Object.entries(exports).flatMap(([key, { value }]) => {
      if (!/^[A-Za-z]\w*$/.test(key) || key === "default") return []
      if (key === "promises") return `export * as ${key} from "${name}/${key}"`
      return isPlainFunction(key, value) || (name.endsWith("/promises") && typeof value === "function")
        ? `export const ${key} = (...args) => $module().${key}(...args)`
        : `export const ${key} = /*#__PURE__*/ $get("${key}")`
    })
    return `
      let $loaded
      const $module = () => ($loaded ??= process.getBuiltinModule("${name}"))
      const $get = (key) => $module()[key]
      ${lines.join("\n")}
      export default /*#__PURE__*/ $module()`
  }
}

/** Neither a class, nor one that has more to it: `fs.read` tells how it is promisified. */
const isPlainFunction = (key: string, value: unknown): boolean =>
  typeof value === "function" &&
  /^[a-z]/.test(key) &&
  Reflect.ownKeys(value).every((own) => own === "length" || own === "name" || own === "prototype")

export default defineConfig({
  platform: "node",
  // It finds its binary by where it is.
  external: ["@vscode/ripgrep"],
  plugins: [builtins],
  logLevel: "silent",
  output: {
    // For `layers/node/CodeCache`, which runs scripts. A file with another content has another name.
    format: "cjs",
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name]-[hash].cjs",
    cleanDir: true,
    // Names stay, so that a stack says where it broke; a text of one byte a character takes half the time to read.
    charset: "ascii",
    comments: { annotation: false, jsdoc: false, legal: false },
    codeSplitting: {
      groups: [
        // All that every call needs, in one file: to find and open the next costs more than to read on.
        {
          name: "call",
          test: /layers\/cli\/(Program|Call|Toolbox)\.js$|\/src\/\w+\.js$/,
          includeDependenciesRecursively: true
        }
      ]
    }
  }
})
