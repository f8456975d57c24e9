/**
 * The command line as its users have it: a process, its streams, its status.
 *
 * @since 0.1.0
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export const repository = path.resolve(import.meta.dirname, "../../..")

export interface Ended {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Options {
  readonly stdin?: string
  readonly cwd?: string
  /** The folder of the user's configuration. Without one, every call is allowed. */
  readonly configuration?: string
  /** The program. Default: the sources. */
  readonly main?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A started program. It is killed should a test forget it. */
export class Program implements AsyncDisposable {
  stdout = ""
  stderr = ""
  readonly ended: Promise<Ended>
  private readonly child
  private readonly watchers = new Set<() => void>()

  constructor(args: ReadonlyArray<string>, options: Options = {}) {
    const calls = args[0] === "call" || args[0] === "run"
    const asks = options.configuration !== undefined || args.includes("--yes")
    const permitted = calls && !asks ? [...args, "--yes"] : args
    this.child = spawn(process.execPath, [options.main ?? path.join(repository, "layers/cli/main.ts"), ...permitted], {
      cwd: options.cwd ?? repository,
      // Whose machine it is has no rules here.
      env: { ...process.env, XDG_CONFIG_HOME: options.configuration ?? "/nowhere", ...options.env },
      stdio: ["pipe", "pipe", "pipe"]
    })
    const { stderr, stdin, stdout } = this.child
    stdout.setEncoding("utf8").on("data", (text: string) => this.add({ stdout: text }))
    stderr.setEncoding("utf8").on("data", (text: string) => this.add({ stderr: text }))
    stdin.on("error", () => {})
    if (options.stdin !== undefined) stdin.end(options.stdin)
    this.ended = new Promise((resolve) => {
      this.child.once("close", (status, signal) => {
        resolve({ status, signal, stdout: this.stdout, stderr: this.stderr })
      })
    })
  }

  write(text: string): void {
    this.child.stdin.write(text)
  }

  end(): void {
    this.child.stdin.end()
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Reads no more, as `head` does when it has its lines. */
  closeStdout(): void {
    this.child.stdout.destroy()
  }

  /** Waits until stdout holds it. Should the program end without, the test sees what there is. */
  async until(holds: (stdout: string) => boolean): Promise<string> {
    const seen = new Promise<void>((resolve) => {
      const watch = () => {
        if (!holds(this.stdout)) return
        this.watchers.delete(watch)
        resolve()
      }
      this.watchers.add(watch)
      watch()
    })
    await Promise.race([seen, this.ended])
    return this.stdout
  }

  /** Waits until stderr says it. Gives the first group. */
  async said(what: RegExp): Promise<string> {
    await this.until(() => what.test(this.stderr))
    return what.exec(this.stderr)?.[1] ?? ""
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL")
    this.child.stdout.destroy()
    this.child.stderr.destroy()
    await this.ended
  }

  private add(text: { readonly stdout?: string; readonly stderr?: string }): void {
    this.stdout += text.stdout ?? ""
    this.stderr += text.stderr ?? ""
    for (const watch of this.watchers) watch()
  }
}

/** Runs to the end. */
export const toolstream = async (args: ReadonlyArray<string>, options: Options = {}): Promise<Ended> => {
  await using program = new Program(args, { stdin: "", ...options })
  return await program.ended
}

/** What `--json` prints. */
export interface Event {
  readonly _tag: "Progress" | "Terminal"
  readonly callId: string
  readonly externalId?: string
  readonly seq: number
  readonly value: { readonly [key: string]: unknown }
  readonly result: {
    readonly _tag: "Success" | "Failure"
    readonly isError: boolean
    readonly value: { readonly [key: string]: unknown }
    readonly error: {
      readonly tool: string
      readonly message: string
      readonly reason: {
        readonly _tag: string
        readonly phase: string
        readonly why: string
        readonly issues: ReadonlyArray<{ readonly path: ReadonlyArray<unknown>; readonly message: string }>
        readonly partial: { readonly value: { readonly [key: string]: unknown } }
      }
    }
  }
}

export const events = (stdout: string): ReadonlyArray<Event> =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event)

export const terminals = (stdout: string): ReadonlyArray<Event> =>
  events(stdout).filter(({ _tag }) => _tag === "Terminal")

/** Terminals by id, as `Success` or the reason of the failure. */
export const endings = (stdout: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    terminals(stdout).map(({ externalId, result }) => [
      externalId ?? "",
      result._tag === "Success" ? "Success" : result.error.reason._tag
    ])
  )

export const lines = (...requests: ReadonlyArray<unknown>): string =>
  requests.map((request) => `${typeof request === "string" ? request : JSON.stringify(request)}\n`).join("")

/** A request for `bash`. */
export const bash = (id: string | number, command: string, more: object = {}) => ({
  id,
  name: "bash",
  parameters: { command },
  ...more
})

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    // A process that has ended and that nobody has waited for is not alive.
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

/** A file that is removed with the test. */
export const temporary = (name: string, content: string | Uint8Array) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-cli-"))
  const file = path.join(directory, name)
  fs.writeFileSync(file, content)
  return { directory, file, [Symbol.dispose]: () => fs.rmSync(directory, { recursive: true, force: true }) }
}
