#!/usr/bin/env node
/**
 * The program `toolstream`: prepares a quick start, then runs the command line.
 *
 * @since 0.1.0
 */

const [command = "", ...rest] = process.argv.slice(2)

// A protocol has stdout for itself, whatever tools print.
if (command === "mcp" || command === "acp") (await import("../node/OwnStdout.ts")).reserve()

// An import would make Node load all that these modules export, streams and promises too: 8 ms.
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")
const { createRequire, enableCompileCache } = process.getBuiltinModule("node:module")

const version = () => {
  const { version }: { readonly version: string } = createRequire(import.meta.url)("toolstream/package.json")
  return version
}

// Compiled code is kept from run to run: a start takes half the time. In the user's own cache, because whoever can write
// there can make this program run anything; Node's default, a directory of all users, can be prepared by others.
const { HOME, XDG_CACHE_HOME } = process.env
const base = XDG_CACHE_HOME || (HOME && path.join(HOME, ".cache"))
const cache = base ? path.join(base, "toolstream") : undefined

const load = async (): Promise<typeof import("./Program.ts")> => {
  // Made by the build: a few files in place of some hundred, of which most of a start would be the loading. A plugin imports
  // this package by its name, and has to find the modules that run it.
  const bundle = path.join(import.meta.dirname, "../../bundle/Program.cjs")
  if (fs.existsSync(bundle) && !rest.some((arg) => arg.startsWith("--plugin"))) {
    const CodeCache = await import("../node/CodeCache.ts")
    // Of each subcommand: what one calls the other does without.
    const kind = /^[a-z]+$/.test(command) ? command : "other"
    const { arch, version } = process
    return CodeCache.run(
      bundle,
      cache && path.join(cache, "code", `${version}-${arch}`, kind)
    ) as typeof import("./Program.ts")
  }
  if (cache !== undefined) enableCompileCache(cache)
  return import("./Program.ts")
}

const { start } = await load()
await start(version, process.argv.slice(2))
