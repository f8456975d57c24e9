#!/usr/bin/env node
/**
 * The program `toolstream`: prepares a quick start, then runs the command line.
 *
 * @since 0.1.0
 */
import { createRequire, enableCompileCache } from "node:module"
import * as path from "node:path"

// A protocol has stdout for itself, whatever tools print.
if (process.argv[2] === "mcp" || process.argv[2] === "acp") (await import("../node/OwnStdout.ts")).reserve()

// Compiled code is kept from run to run: a start takes half the time. In the user's own cache, because whoever can write
// there can make this program run anything; Node's default, a directory of all users, can be prepared by others.
const { HOME, XDG_CACHE_HOME } = process.env
const cache = XDG_CACHE_HOME || (HOME && path.join(HOME, ".cache"))
if (cache) enableCompileCache(path.join(cache, "toolstream"))

const version = () => {
  const { version }: { readonly version: string } = createRequire(import.meta.url)("toolstream/package.json")
  return version
}
const args = process.argv.slice(2)

// Made by the build: a few files in place of some hundred, of which most of a start would be the loading. A plugin imports
// this package by its name, and has to find the modules that run it.
const bundle = new URL("../../bundle/Program.js", import.meta.url)
// An import of `node:fs` would make Node load all that it exports, streams too: 8 ms.
const { existsSync } = process.getBuiltinModule("node:fs")
const bundled = existsSync(bundle) && !args.some((arg) => arg.startsWith("--plugin"))
const { start }: typeof import("./Program.ts") = await (bundled ? import(bundle.href) : import("./Program.ts"))
await start(version, args)
