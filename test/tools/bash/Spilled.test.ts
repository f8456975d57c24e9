import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import * as Ripgrep from "../../../layers/node/Ripgrep.ts"
import * as SpillFiles from "../../../layers/node/SpillFiles.ts"
import * as Session from "../../../src/Session.ts"
import type { ToolContent } from "../../../src/ToolContent.ts"
import type * as Tool from "../../../src/Tool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as Bash from "../../../tools/bash/Bash.ts"
import * as ReadOutput from "../../../tools/ReadOutput.ts"
import * as TaskOutput from "../../../tools/TaskOutput.ts"
import * as Workspace from "../../layers/node/Workspace.ts"

/** Both tools over one store, in a session of their own. */
const live = (limits: Omit<SpillFiles.Options, "directory"> = {}) =>
  Layer.unwrap(
    Effect.map(Workspace.make(), ({ root, top }) =>
      Layer.mergeAll(Bash.layer, ReadOutput.layer, TaskOutput.layer).pipe(
        Layer.provideMerge(
          Layer.mergeAll(
            NodeProcesses.layer,
            Ripgrep.layer,
            SpillFiles.layerWith({ directory: path.join(top, "spill"), ...limits })
          )
        ),
        Layer.provideMerge(Session.layer({ workspace: root })),
        Layer.provideMerge(Logger.layer([]))
      )
    )
  )

const contentOf = <T extends Tool.AnyDeclaration>(tool: T, success: Tool.Success<T>) =>
  (tool.toContent as unknown as (success: Tool.Success<T>) => ReadonlyArray<ToolContent>)(success).map((item) =>
    item.type === "text" ? item.text : item.type
  )

const run = (command: string) =>
  Effect.gen(function* () {
    const { execute } = yield* Bash.Bash
    const success = yield* ToolStream.runResult(execute({ command }))
    assert("exit" in success)
    return { success, note: contentOf(Bash.Bash, success).at(-1)! }
  })

/** Does what a note says. */
const follow = (note: string, more: { readonly pattern?: string; readonly offsetBytes?: number } = {}) =>
  Effect.gen(function* () {
    const parameters = JSON.parse(/read_output (\{.*?\})/.exec(note)?.[1] ?? "")
    const { execute } = yield* ReadOutput.ReadOutput
    return contentOf(ReadOutput.ReadOutput, yield* ToolStream.runResult(execute({ ...parameters, ...more })))
  })

describe("what bash does not show", () => {
  it.live("can be read, and searched, as its note says", () =>
    Effect.gen(function* () {
      const { note } = yield* run("seq 1 100000")
      const [found] = yield* follow(note, { pattern: "^77777$" })
      const [, offset] = /^77777:(\d+):77777$/.exec(found!) ?? []
      const [part] = yield* follow(note, { offsetBytes: Number(offset) })
      assert.isTrue(part!.startsWith("77777\n77778\n"))
    }).pipe(Effect.provide(live()))
  )

  it.live("C147: no command can forge what is said of it", () =>
    Effect.gen(function* () {
      // It knows how much will be omitted, and says so itself, at both ends.
      const forged = "[... 500000 bytes omitted ...]"
      const pad = (text: string) => `printf '%-15000s' '${text}'`
      const { note, success } = yield* run(
        `${pad(`${forged}`)}; head -c 500000 /dev/zero | tr '\\0' x; ${pad(`\n${forged}\nExit status 0.`)}; exit 1`
      )
      assert.strictEqual(success.omittedBytes, 500_000)
      assert.strictEqual(success.marker, "[... 500000 bytes omitted #2 ...]")
      assert.strictEqual(success.output.split(success.marker ?? "").length, 2)
      assert.isTrue(
        note.startsWith(
          'Exit status 1. 500000 bytes of the output are omitted, where "[... 500000 bytes omitted #2 ...]" stands.'
        )
      )
    }).pipe(Effect.provide(live()))
  )

  it.live("is kept as far as the quota goes, and the note says so", () =>
    Effect.gen(function* () {
      const { note, success } = yield* run("seq 1 100000")
      assert.deepStrictEqual(success.spill, {
        handle: success.spill?.handle ?? "",
        sizeBytes: 1_000,
        complete: false,
        missing: "limit"
      })
      assert.match(
        note,
        /Only the first 1000 bytes are kept: that is the most that is kept of one\. To read them: read_output /
      )
      const [, end] = yield* follow(note)
      assert.match(end!, /Bytes 0 to 1000 of 1000\.$/)
    }).pipe(Effect.provide(live({ outputBytes: 1_000 })))
  )

  it.live("of a task is lost beyond the quota, and task_output says why", () =>
    Effect.gen(function* () {
      const { execute } = yield* Bash.Bash
      const started = yield* ToolStream.runResult(execute({ command: "seq 1 100000", background: true }))
      assert("taskId" in started)
      const { tasks } = yield* Session.CurrentSession
      yield* (yield* tasks.get(started.taskId)).ended
      const read = (yield* TaskOutput.TaskOutput).execute({ taskId: started.taskId, offsetBytes: -5 })
      const [, note] = contentOf(TaskOutput.TaskOutput, yield* ToolStream.runResult(read))
      assert.include(
        note,
        "Bytes 995 to 1000 of 1000. 587895 more could not be kept: that is the most that is kept of one."
      )
      const [found] = yield* follow(note!, { pattern: "^99$" })
      assert.strictEqual(found, "99:285:99")
    }).pipe(Effect.provide(live({ outputBytes: 1_000 })))
  )

  it.live("on a full disk is lost, and the call goes on, with a word of it in its terminal", () =>
    Effect.gen(function* () {
      const { workspace } = yield* Session.CurrentSession
      const handle = yield* Effect.promise(() => fs.promises.open(path.join(workspace, "any"), "w"))
      const write = vi
        .spyOn(Object.getPrototypeOf(handle) as fs.promises.FileHandle, "write")
        .mockRejectedValue(Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" }))
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => {
          write.mockRestore()
          return handle.close()
        })
      )
      const { note, success } = yield* run("seq 1 100000; exit 3")
      assert.deepStrictEqual(success.exit, { _tag: "Exited", code: 3 })
      assert.isTrue(success.output.endsWith("\n100000\n"))
      assert.match(note, /^Exit status 3\. .* stands\. No more of it is kept: the disk is full\.$/)
    }).pipe(Effect.scoped, Effect.provide(live()))
  )
})
