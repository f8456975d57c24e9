/**
 * Runs the files of the bundle with the code that V8 made of them in an earlier run.
 *
 * **Details**
 *
 * - What Node's own cache keeps (`module.enableCompileCache`) is made before a file is run, when V8 has compiled hardly
 *   more than its outermost level. Here it is made after a run, and has the functions that were called: a start finds all
 *   that it needs, and compiles nothing.
 * - It is kept when a run ends well. Whoever reads it sees all of it or nothing, and V8 takes none that another version
 *   of it made. V8 tells one source from another by its length alone: so it is kept only of files whose name tells
 *   their content, as those of the bundle do but for the first.
 * - It is kept for the user alone: whoever can write it can make the program run anything.
 * - Of one file the code of three builds is kept. Another takes the place of the oldest.
 *
 * @since 0.1.0
 */
import type { Script } from "node:vm"

// An import would make Node load all that these modules export, streams and promises too: 8 ms.
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")
const vm = process.getBuiltinModule("node:vm")

/** The end of a name that tells the content of its file. */
const hashed = /-[\w-]{8}\.cjs$/

/** Whose code is kept. With fewer, versions that are used side by side would make theirs anew at every start. */
const maxBuilds = 3

/**
 * What a file exports. Those that it requires are run in the same way, once each. Without a directory nothing is kept.
 *
 * @category running
 * @since 0.1.0
 */
export const run = (entry: string, directory: string | undefined): unknown => {
  const modules = new Map<string, { exports: unknown }>()
  const fresh = new Map<string, Script>()

  const load = (file: string): unknown => {
    const known = modules.get(file)
    if (known !== undefined) return known.exports
    const module = { exports: {} }
    modules.set(file, module)
    const name = path.basename(file)
    const kept = directory === undefined || !hashed.test(name) ? undefined : path.join(directory, name)
    const cachedData = kept === undefined ? undefined : contentOf(kept)
    const script = new vm.Script(
      `(function (exports, require, module, __filename) {${fs.readFileSync(file, "utf8")}\n})`,
      {
        filename: file,
        cachedData,
        importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
      }
    )
    if (kept !== undefined && (cachedData === undefined || script.cachedDataRejected === true)) fresh.set(kept, script)
    const required = (id: string) =>
      id.startsWith(".") ? load(path.join(path.dirname(file), id)) : process.getBuiltinModule(id)
    script.runInThisContext()(module.exports, required, module, file)
    return module.exports
  }

  process.once("exit", (status) => {
    if (status === 0) for (const [file, script] of fresh) keep(file, script.createCachedData())
  })
  return load(entry)
}

/** Of a file that is the user's own, and that nobody else can write. */
const contentOf = (file: string): Buffer | undefined => {
  let opened: number | undefined
  try {
    opened = fs.openSync(file, "r")
    const { mode, uid } = fs.fstatSync(opened)
    const own = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
    return own ? fs.readFileSync(opened) : undefined
  } catch {
    return undefined
  } finally {
    if (opened !== undefined) fs.closeSync(opened)
  }
}

/** On the disk before it has its name: V8 trusts what it finds. Where it cannot be kept, the next start takes longer. */
const keep = (file: string, code: Buffer): void => {
  const temporary = `${file}.${process.pid}`
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    fs.writeFileSync(temporary, code, { mode: 0o600, flush: true })
    fs.renameSync(temporary, file)
    forgetOldest(file)
  } catch {
    if (fs.existsSync(temporary)) fs.rmSync(temporary)
  }
}

const forgetOldest = (file: string): void => {
  const folder = path.dirname(file)
  const ofFile = (name: string) => name.replace(hashed, "")
  const builds = fs
    .readdirSync(folder)
    .filter((name) => hashed.test(name) && ofFile(name) === ofFile(path.basename(file)))
    .map((name) => path.join(folder, name))
    .map((build) => ({ build, keptAt: fs.statSync(build).mtimeMs }))
    .toSorted((one, other) => other.keptAt - one.keptAt)
  // Another run may do the same.
  for (const { build } of builds.slice(maxBuilds)) fs.rmSync(build, { force: true })
}
