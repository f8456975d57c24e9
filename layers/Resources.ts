/**
 * Calls that are in conflict wait for each other, in the order of their arrival;
 * the others run together. What a call uses its tool says: see `src/Resources`.
 *
 * **Contract**
 *
 * - While it waits a call has not started. It holds nothing, shows what it waits for
 *   in `inFlight`, and its `queue` clock runs.
 * - Files are told apart by what they are, not by how they are named: through links
 *   and `..`, by the `WorkspaceFiles` of the layer, where it has one.
 * - Of `capacity` the weights of those that run are taken. Where more than
 *   `maxWaiting` calls would wait, the next ends as `Busy`.
 * - A call that a tool makes shares what the call of the tool holds, and takes no
 *   room. One that wants to write what the other only reads, and one that would wait
 *   for a call that waits for it, end as `Unavailable`.
 *
 * All runtimes above one such layer share its gate.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as CallStage from "../src/CallStage.ts"
import type { ErasedTool } from "../src/ErasedTool.ts"
import type { Resource, Resources } from "../src/Resources.ts"
import type { Session } from "../src/Session.ts"
import { Busy, fromReason, type ToolError, Unavailable } from "../src/ToolError.ts"
import * as ToolMiddleware from "../src/ToolMiddleware.ts"
import type { PreparedCall } from "../src/ToolMiddleware.ts"
import { WorkspaceFiles } from "../src/WorkspaceFiles.ts"
import { type Claim, Gate, type Ticket } from "./resources/Gate.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The weights that may run at once. Default: no limit. */
  readonly capacity?: number | undefined
  /** Calls that may wait. Default: 1,024. More hold memory, and whoever made them has long given up. */
  readonly maxWaiting?: number | undefined
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = ({ capacity, maxWaiting = 1024 }: Options): Layer.Layer<never> =>
  ToolMiddleware.layer(
    Effect.gen(function* () {
      const files = yield* Effect.serviceOption(WorkspaceFiles)
      const keysOf = files._tag === "Some" ? files.value.keys : undefined
      const gate = new Gate(capacity)
      const tickets = new ToolMiddleware.CallLocal<Ticket>()

      const admitted = (ticket: Ticket, { call, tool, parameters }: PreparedCall): Effect.Effect<void, ToolError> => {
        if (ticket.state === "inside") return Effect.void
        const refuse = (reason: Busy | Unavailable) => Effect.fail(fromReason(call, reason))
        if (gate.isDeadlocked(ticket)) return refuse(new Unavailable({ detail: deadlock }))
        if (gate.waiting > maxWaiting) return refuse(new Busy({}))
        return CallStage.within("queue", describe(askedBy(tool, parameters)), gate.wait(ticket))
      }

      /** Looks what the files are that were asked for by name, while the call keeps its place. */
      const settled = (keysOf: KeysOf, ticket: Ticket, prepared: PreparedCall) => {
        const asked = askedBy(prepared.tool, prepared.parameters)
        const paths = filesOf(asked)
        return Effect.flatMap(keysOf(paths), (found) => {
          const keys = new Map(paths.map((path, index) => [path, found[index] ?? [path]]))
          const claim = claimOf(asked, (path) => keys.get(path) ?? [path])
          gate.settle(ticket, claim)
          return admitted(ticket, prepared)
        })
      }

      const holder: ToolMiddleware.Holder<Ticket, ToolError> = {
        acquire: (prepared) => {
          const asked = askedBy(prepared.tool, prepared.parameters)
          const open = keysOf !== undefined && filesOf(asked).length > 0
          const claim = open ? named(asked, prepared.session) : claimOf(asked, (path) => [path])
          const ticket = gate.arrive(claim, open, tickets.ofCaller(prepared))
          tickets.set(prepared, ticket)
          return ticket
        },
        before: (ticket, prepared) => {
          if (ticket.state === "inside") return undefined
          return keysOf !== undefined && ticket.open ? settled(keysOf, ticket, prepared) : admitted(ticket, prepared)
        },
        release: (ticket) => gate.leave(ticket)
      }
      return (next) => (prepared) => ToolMiddleware.holding(next(prepared), prepared, holder)
    })
  )

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = layerWith({})

type KeysOf = (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Iterable<string>>>

/** Of a tool that says nothing. */
const nothing: Resources = {}

const askedBy = ({ resources }: ErasedTool, parameters: unknown): Resources =>
  resources === undefined ? nothing : resources(parameters)

/** By the names of its files. What they are is another matter. */
const named = (asked: Resources, { workspace }: Session): Claim =>
  claimOf(asked, (path) => [path.startsWith("/") ? path : `${workspace}/${path}`])

const deadlock =
  "it uses what the call that made it only reads, or what a call holds that waits for that one; make it when they have ended"

const filesOf = ({ reads = none, writes = none }: Resources): ReadonlyArray<string> =>
  reads === none && writes === none
    ? none
    : [...reads, ...writes].flatMap((resource) => (typeof resource === "string" ? [] : [resource.file]))

const none: ReadonlyArray<never> = []

const claimOf = (
  { exclusive, reads = none, weight, writes = none }: Resources,
  keysOf: (path: string) => Iterable<string>
): Claim => {
  const named = (resources: ReadonlyArray<Resource>) =>
    resources.flatMap((resource) =>
      typeof resource === "string" ? [`name ${resource}`] : Array.from(keysOf(resource.file), (key) => `file ${key}`)
    )
  return reads === none && writes === none
    ? exclusive === undefined && weight === undefined
      ? plain
      : { exclusive, weight }
    : { reads: named(reads), writes: named(writes), exclusive, weight }
}

const plain: Claim = {}

/** What a call waits for, for people. */
const describe = ({ exclusive, reads = none, writes = none }: Resources): string => {
  const used = [
    ...writes.map((resource) => `write ${nameOf(resource)}`),
    ...reads.map((resource) => `read ${nameOf(resource)}`)
  ]
  if (exclusive === true) return "to run alone"
  if (used.length === 0) return "its turn"
  return used.length > 3 ? `${used.slice(0, 3).join(", ")} and ${used.length - 3} more` : used.join(", ")
}

const nameOf = (resource: Resource): string => (typeof resource === "string" ? resource : resource.file)
