/**
 * What the mode of a session forbids, whoever permits it, and what it allows unasked.
 *
 * **Contract**
 *
 * - In `read-only` and `plan` a call runs if its tool is compiled into the program and
 *   reads only. In `plan` also one that writes the plan file and nothing else: judged by
 *   where its paths lead, so that a link in place of the plan opens no other file.
 * - `layer` is asked last, of the parameters that the tool will get: no hook, rule,
 *   grant or flag stands above it, and a mode that changes while a person is asked holds.
 * - In `auto-edit` a call whose tool is compiled into the program and says that it writes
 *   files of the workspace, and no more, needs no person, unless a rule asks for one. Not
 *   of a path with a hidden part, in which a name begins with a dot: what lies there is
 *   run or obeyed by other programs (hooks, settings, workflows).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import { planFile } from "../src/Mode.ts"
import { fromReason, PermissionDenied } from "../src/ToolError.ts"
import * as ToolMiddleware from "../src/ToolMiddleware.ts"
import type { PreparedCall } from "../src/ToolMiddleware.ts"
import { isOwn } from "../src/ToolRegistry.ts"
import { WorkspaceFiles } from "../src/WorkspaceFiles.ts"
import type { Judge, Verdict } from "./Permissions.ts"

/**
 * Refuses what the mode forbids. To be provided after the permissions, so that it stands nearer to the tools.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never, never, WorkspaceFiles> = ToolMiddleware.layer(
  Effect.gen(function* () {
    const forbids = forbidden(leading(yield* WorkspaceFiles))
    return (next) => (prepared) =>
      ToolMiddleware.deciding(
        prepared,
        () =>
          isFree(prepared)
            ? Exit.succeed(prepared)
            : Effect.flatMap(forbids(prepared), (denied) =>
                denied === undefined
                  ? Effect.succeed(prepared)
                  : Effect.fail(fromReason(prepared.call, new PermissionDenied(denied)))
              ),
        next
      )
  })
)

/**
 * The rules, with what the mode says before and after them: nobody is asked for what will be refused, nor for what the
 * mode allows.
 *
 * @category constructors
 * @since 0.1.0
 */
export const rules = (inner: Judge): Effect.Effect<Judge, never, WorkspaceFiles> =>
  Effect.map(WorkspaceFiles, (files) => {
    const leadsOf = leading(files)
    const forbids = forbidden(leadsOf)

    /** What no rule speaks of, and the mode does. */
    const allowed = (prepared: PreparedCall, verdict: Verdict): Effect.Effect<Verdict> => {
      const edits = verdict._tag === "Undecided" ? editsOf(prepared) : undefined
      if (edits === undefined) return Effect.succeed(verdict)
      switch (prepared.session.mode.now()) {
        case "plan":
          // It was not forbidden: it is the plan.
          return Effect.succeed({ _tag: "Allowed" })
        case "auto-edit":
          return Effect.map(leadsOf(edits), (leads) =>
            leads.every((path) => path !== undefined && !/(^|\/)\./.test(path)) ? { _tag: "Allowed" } : verdict
          )
        case "ask":
        case "read-only":
          return Effect.succeed(verdict)
      }
    }

    return (prepared, granted) => {
      if (prepared.session.mode.now() === "ask") return inner(prepared, granted)
      return Effect.flatMap(forbids(prepared), (denied) =>
        denied === undefined
          ? Effect.flatMap(inner(prepared, granted), (verdict) => allowed(prepared, verdict))
          : Effect.succeed<Verdict>({ _tag: "Denied", ...denied })
      )
    }
  })

interface Denied {
  readonly by: string
  readonly why: string
}

type LeadsOf = (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string | undefined>>

/** Nothing is forbidden to it, whatever the mode: most calls pay for this look alone. */
const isFree = ({ origin, session, tool }: PreparedCall): boolean => {
  const mode = session.mode.now()
  return mode === "ask" || mode === "auto-edit" || (isOwn(tool, origin) && tool.descriptor.hints.readOnly)
}

const forbidden =
  (leadsOf: LeadsOf) =>
  (prepared: PreparedCall): Effect.Effect<Denied | undefined> => {
    if (isFree(prepared)) return Effect.undefined
    const { session } = prepared
    if (session.mode.now() === "read-only") return Effect.succeed(readOnly)
    const edits = editsOf(prepared)
    const plan = planFile(session)
    const denied: Denied = {
      by: "the plan mode",
      why: `nothing is changed, and no command is run, but the plan is written, to ${plan}, until exit_plan is approved`
    }
    return edits === undefined
      ? Effect.succeed(denied)
      : Effect.map(leadsOf(edits), (leads) => (leads.every((path) => path === plan) ? undefined : denied))
  }

const readOnly: Denied = { by: "the read-only mode", why: "only tools that change nothing can be used" }

/** The files that a call writes, if that is all it does, as a tool says that is compiled into the program. */
const editsOf = ({ origin, parameters, tool }: PreparedCall): ReadonlyArray<string> | undefined => {
  if (!isOwn(tool, origin) || tool.descriptor.hints.openWorld) return undefined
  const { exclusive, writes = [] } = tool.resources?.(parameters) ?? {}
  const paths = writes.flatMap((resource) => (typeof resource === "string" ? [] : [resource.file]))
  return exclusive === true || paths.length === 0 || paths.length < writes.length ? undefined : paths
}

/** Where paths lead, links resolved, relative to the workspace. Undefined of one that leads nowhere, or out of it. */
const leading =
  (files: WorkspaceFiles["Service"]): LeadsOf =>
  (paths) =>
    Effect.gen(function* () {
      const root = (yield* files.resolve(".")).path
      const within = root === "/" ? root : `${root}/`
      return yield* files.hold(paths, ({ leads }) =>
        Effect.succeed(
          paths.map((path) => {
            const lead = leads.get(path)
            return lead !== undefined && lead.path.startsWith(within) ? lead.path.slice(within.length) : undefined
          })
        )
      )
    }).pipe(Effect.orElseSucceed(() => paths.map(() => undefined)))
