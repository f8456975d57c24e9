/**
 * A client on the official SDK, over the pipes of an agent that is a process. Every line is
 * checked.
 */
import { client, type ClientConnection, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk"
import { type ChildProcess, spawn } from "node:child_process"
import { Readable, Writable } from "node:stream"
import { type Side, WireSchema } from "./WireSchema.ts"

export interface Behaviour {
  /** What is answered to a question of permission. Default: allow. */
  readonly choose?: "allow" | "reject" | "cancel"
  readonly buffers?: Map<string, string>
  readonly terminals?: boolean
}

/** Passes bytes on, and takes each line to the schema. */
const checked = (side: Side, schema: WireSchema) => {
  const decoder = new TextDecoder()
  let rest = ""
  return new TransformStream<Uint8Array, Uint8Array>({
    transform: (bytes, controller) => {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        try {
          schema.take(side, JSON.parse(line))
        } catch {
          schema.breaches.push(`no JSON: ${line.slice(0, 200)}`)
        }
      }
      controller.enqueue(bytes)
    }
  })
}

export class Editor {
  readonly schema = new WireSchema()
  readonly kinds: Array<string> = []
  readonly statuses: Array<string> = []
  readonly buffers: Map<string, string> | undefined
  text = ""
  asked = 0
  released = 0
  stop: string | undefined
  private readonly child: ChildProcess
  private readonly connection: ClientConnection

  static async connect(
    agent: ReadonlyArray<string>,
    env: Readonly<Record<string, string>>,
    behaviour: Behaviour
  ): Promise<Editor> {
    const editor = new Editor(agent, env, behaviour)
    await editor.connection.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientInfo: { name: "test", version: "0" },
      clientCapabilities: {
        fs: { readTextFile: behaviour.buffers !== undefined, writeTextFile: behaviour.buffers !== undefined },
        terminal: behaviour.terminals === true
      }
    })
    return editor
  }

  private constructor(agent: ReadonlyArray<string>, env: Readonly<Record<string, string>>, behaviour: Behaviour) {
    const { buffers } = behaviour
    this.buffers = buffers
    const child = spawn(agent[0]!, agent.slice(1), { env, stdio: ["pipe", "pipe", "inherit"] })
    this.child = child
    const terminals = new Map<string, { readonly process: ChildProcess; output: string; exit: Promise<TerminalExit> }>()
    const app = client({ name: "test" })
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        this.kinds.push(update.sessionUpdate)
        if ("status" in update && typeof update.status === "string") this.statuses.push(update.status)
        if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
          this.text += update.content.text
        }
      })
      .onRequest(methods.client.session.requestPermission, ({ params: { options, sessionId } }) => {
        this.asked++
        if (behaviour.choose === "cancel") {
          void this.connection.agent.notify(methods.agent.session.cancel, { sessionId })
          return { outcome: { outcome: "cancelled" as const } }
        }
        const wanted = behaviour.choose === "reject" ? "reject_once" : "allow_once"
        const { optionId } = options.find(({ kind }) => kind === wanted)!
        return { outcome: { outcome: "selected" as const, optionId } }
      })
      .onRequest(methods.client.fs.readTextFile, ({ params }) => {
        const content = buffers?.get(params.path)
        if (content === undefined) throw RequestError.resourceNotFound(params.path)
        return { content }
      })
      .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
        buffers?.set(params.path, params.content)
        return {}
      })
      .onRequest(methods.client.terminal.create, ({ params }) => {
        const process = spawn(params.command, params.args ?? [], {
          cwd: params.cwd ?? undefined,
          detached: true,
          stdio: ["ignore", "pipe", "pipe"]
        })
        const exit = new Promise<TerminalExit>((resolve) =>
          process.on("exit", (exitCode, signal) => resolve({ exitCode, signal }))
        )
        const terminal = { process, output: "", exit }
        for (const stream of [process.stdout, process.stderr]) {
          stream.setEncoding("utf8").on("data", (text: string) => (terminal.output += text))
        }
        const terminalId = String(terminals.size + 1)
        terminals.set(terminalId, terminal)
        return { terminalId }
      })
      .onRequest(methods.client.terminal.output, ({ params }) => ({
        output: terminals.get(params.terminalId)!.output,
        truncated: false
      }))
      .onRequest(methods.client.terminal.waitForExit, ({ params }) => terminals.get(params.terminalId)!.exit)
      .onRequest(methods.client.terminal.kill, ({ params }) => {
        process.kill(-terminals.get(params.terminalId)!.process.pid!, "SIGKILL")
        return {}
      })
      .onRequest(methods.client.terminal.release, () => {
        this.released++
        return {}
      })
    const out = checked("client", this.schema)
    void out.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {})
    const stream = ndJsonStream(
      out.writable,
      (Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>).pipeThrough(checked("agent", this.schema))
    )
    this.connection = app.connect(stream)
  }

  async session(cwd: string): Promise<string> {
    return (await this.connection.agent.request(methods.agent.session.new, { cwd, mcpServers: [] })).sessionId
  }

  async load(sessionId: string, cwd: string): Promise<void> {
    await this.connection.agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  }

  async prompt(sessionId: string, text: string): Promise<string> {
    const { stopReason } = await this.connection.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text }]
    })
    this.stop = stopReason
    return stopReason
  }

  async cancel(sessionId: string): Promise<void> {
    await this.connection.agent.notify(methods.agent.session.cancel, { sessionId })
  }

  has(kind: string): boolean {
    return this.kinds.includes(kind)
  }

  /** Leaves, and gives the status of the agent. */
  async end(): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => this.child.once("exit", resolve))
    this.child.stdin?.end()
    return await ended
  }
}

interface TerminalExit {
  readonly exitCode: number | null
  readonly signal: string | null
}
