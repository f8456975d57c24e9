/**
 * A program: imports the modules it is given as paths, and prints who asked for what while they were loaded.
 *
 * It runs in a process of its own, in which nothing else has been loaded yet. What it prints is an array of
 * `[importer, specifier, loaded]` in JSON; importer and loaded are file URLs, or `node:…`.
 */
import { registerHooks } from "node:module"
import { pathToFileURL } from "node:url"

const edges: Array<readonly [string, string, string]> = []

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    if (context.parentURL !== undefined && context.parentURL !== import.meta.url) {
      edges.push([context.parentURL, specifier, resolved.url])
    }
    return resolved
  }
})

for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href)

process.stdout.write(JSON.stringify(edges))
