/**
 * The operations of `WorkspaceFiles`, made of their parts.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { constants } from "node:fs"
import { CurrentSession, type Session } from "../../../src/Session.ts"
import {
  type Change,
  CommitFailed,
  type Committed,
  type Content,
  FileUnreachable,
  type Held,
  type Lead,
  type OpenFile,
  WorkspaceFiles
} from "../../../src/WorkspaceFiles.ts"
import * as Commit from "./Commit.ts"
import { Gate } from "../../resources/Gate.ts"
import * as FileContent from "./FileContent.ts"
import * as FileDiff from "./FileDiff.ts"
import * as FileName from "./FileName.ts"
import { Intents } from "./Intent.ts"
import * as Listing from "./Listing.ts"
import * as ReadStamps from "./ReadStamps.ts"
import * as Recovery from "./Recovery.ts"
import * as SimilarNames from "./SimilarNames.ts"
import { attempt, type Errno, errorWith, outcomeOf, readFully } from "./SystemCalls.ts"
import * as Walk from "./Walk.ts"

/** Bytes of a file that was changed just now and is read whole when it is opened, because its times prove little. */
const maxHashed = 1024 * 1024

/** Times that a request looks again because files were replaced while it waited. More is somebody's loop. */
const maxTurns = 16

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (walker: Walk.Walker, state: string) {
  const { calls } = walker
  const intents = new Intents(calls, state)
  const stamps = new ReadStamps.ReadStamps()
  const gate = new Gate()
  yield* Recovery.run(walker, intents)

  const walk = (path: string, pass: Walk.Pass, file?: "open" | "look") =>
    Effect.flatMap(CurrentSession, ({ workspace }) => Walk.walk(pass, workspace, path, file))

  const fail = (path: string, reason: Walk.Reason) => Effect.fail(new FileUnreachable({ path, reason }))

  const unreachable =
    (path: string) =>
    <A, R>(effect: Effect.Effect<A, Errno, R>): Effect.Effect<A, FileUnreachable, R> =>
      Effect.mapError(effect, (code) => new FileUnreachable({ path, reason: Walk.reasonOf(code) }))

  const shown = Effect.fnUntraced(
    function* (pass: Walk.Pass, path: FileName.Raw) {
      const { workspace } = yield* CurrentSession
      const root = yield* Walk.rootOf(pass, workspace)
      if (path === root) return "."
      return FileName.format(Walk.isInside(root, path) ? path.slice(root === "/" ? 1 : root.length + 1) : path)
    },
    (effect, _pass, path) => Effect.orElseSucceed(effect, () => FileName.format(path))
  )

  const display = (path: string) => Walk.passing(walker, (pass) => shown(pass, FileName.parse(path)))

  const missing = Effect.fnUntraced(function* (path: string, { parent, below }: Walk.Place) {
    const base = path.slice(0, path.lastIndexOf("/") + 1)
    const [name, ...deeper] = below
    // Where a dangling link leads, and in a directory that is not there, other names are of no help.
    const helps = name !== undefined && deeper.length === 0 && FileName.format(name) === path.slice(base.length)
    const similar = helps ? yield* SimilarNames.find(parent, name) : []
    return new FileUnreachable({ path, reason: { _tag: "NotFound", similar: similar.map((name) => base + name) } })
  })

  const find = Effect.fnUntraced(function* (path: string, pass: Walk.Pass) {
    const place = yield* walk(path, pass)
    return place.found === undefined
      ? yield* Effect.flatMap(missing(path, place), Effect.fail)
      : { place, ...place.found }
  })

  const open = Effect.fn("WorkspaceFiles.open")(function* (
    path: string
  ): Effect.fn.Return<OpenFile, FileUnreachable, Scope.Scope> {
    const session = yield* CurrentSession
    const { place, fd, stats } = yield* Effect.acquireRelease(
      Walk.passing(walker, (pass) =>
        Effect.gen(function* () {
          const { place, type } = yield* find(path, pass)
          if (type !== "file") return yield* fail(path, { _tag: "WrongType", type })
          return yield* unreachable(path)(openFound(place))
        })
      ),
      ({ fd }) => Effect.ignore(attempt(() => calls.close(fd)))
    )
    const read: OpenFile["read"] = (offset, length, into) =>
      unreachable(path)(readFully(calls, fd, offset, length, into))
    const size = Number(stats.size)
    const whole = ReadStamps.isFresh(stats) && size <= maxHashed ? yield* read(0, size) : undefined
    const stamp = whole === undefined ? { stats } : { hash: FileContent.hashOf(whole) }
    yield* stamps.record(session, place.path, stamp)
    return { path: FileName.format(place.path), size, read }
  })

  /** The found file itself, for reading. Where there are no paths by descriptor: verified. */
  const openFound = (place: Walk.Place) =>
    attempt(() => {
      const { found, path } = place
      const flags = constants.O_RDONLY | constants.O_NONBLOCK | (found?.fd === undefined ? constants.O_NOFOLLOW : 0)
      const fd = calls.open(Walk.itself(place), flags)
      const opened = outcomeOf(() => {
        const stats = calls.fstat(fd)
        const real = walker.byDescriptor ? path : calls.realpath(path)
        if (found === undefined || Walk.keyOf(stats) !== Walk.keyOf(found.stats) || real !== path) {
          throw errorWith("ENOENT")
        }
        return { place, fd, stats }
      })
      if (Result.isSuccess(opened)) return opened.success
      outcomeOf(() => calls.close(fd))
      throw errorWith(opened.failure)
    })

  const resolve = Effect.fn("WorkspaceFiles.resolve")((path: string) =>
    Walk.passing(walker, (pass) =>
      Effect.gen(function* () {
        const { place, type } = yield* find(path, pass)
        return type === "file" || type === "directory"
          ? { path: FileName.format(place.path), type }
          : yield* fail(path, { _tag: "WrongType", type })
      })
    )
  )

  const list = Effect.fn("WorkspaceFiles.list")((path: string, { limit }: { readonly limit: number }) =>
    Walk.passing(walker, (pass) =>
      Effect.gen(function* () {
        const { place, type } = yield* find(path, pass)
        if (type !== "directory") return yield* fail(path, { _tag: "WrongType", type })
        return yield* unreachable(path)(Listing.make(calls, place.parent, limit))
      })
    )
  )

  // ---------------------------------------------------------------------------
  // Holding
  // ---------------------------------------------------------------------------

  /** Where a path leads that may be written to: to a file, or to nothing yet. */
  const place = (path: string, pass: Walk.Pass, file: "open" | "look") =>
    Effect.flatMap(walk(path, pass, file), (place) => {
      const { found, code, parent, below } = place
      if (found !== undefined) {
        return found.type === "file" ? Effect.succeed(place) : fail(path, { _tag: "WrongType", type: found.type })
      }
      if (code !== "ENOENT") {
        const above = FileName.join([...parent.names, ...below.slice(0, 1)])
        return below.length > 1
          ? Effect.flatMap(shown(pass, above), (above) => fail(above, { _tag: "WrongType", type: "file" }))
          : fail(path, { _tag: "NotFound", similar: [] })
      }
      return path.endsWith("/")
        ? fail(path, { _tag: "InvalidPath", why: "it names a directory" })
        : Effect.succeed(place)
    })

  /** The path of what it names itself: of the link, if it is one. */
  const entryOf = ({ path, link }: Walk.Place): FileName.Raw =>
    link === undefined ? path : FileName.join([...link.parent.names, link.name])

  /** All that stands for a file: its real path, where it has one its inode, and the link it was asked for by. */
  const keysOf = (place: Walk.Place): ReadonlyArray<string> => [
    place.path,
    ...(place.found === undefined ? [] : [Walk.keyOf(place.found.stats)]),
    ...(place.link === undefined ? [] : [entryOf(place)])
  ]

  const lookAt = (paths: ReadonlyArray<string>) =>
    Walk.passing(walker, (pass) =>
      Effect.map(
        Effect.forEach(paths, (path) => place(path, pass, "look")),
        (places) => ({
          keys: new Set(places.flatMap(keysOf)),
          leads: new Map(
            places.map((place, index): [string, Lead] => [
              paths[index]!,
              { path: FileName.format(place.path), entry: FileName.format(entryOf(place)) }
            ])
          )
        })
      )
    )

  const keys = Effect.fn("WorkspaceFiles.keys")((paths: ReadonlyArray<string>) =>
    Effect.forEach(paths, (path) =>
      Effect.orElseSucceed(
        Effect.map(lookAt([path]), ({ keys }): Iterable<string> => keys),
        () => [path]
      )
    )
  )

  const hold = <A, E, R>(paths: ReadonlyArray<string>, use: (held: Held) => Effect.Effect<A, E, R>) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const { releases } = gate
        const seen = yield* toChange(lookAt(paths))
        const ticket = gate.arrive({ writes: seen.keys })
        const settle = Effect.gen(function* () {
          if (ticket.state === "inside" && gate.releases === releases) return seen.leads
          // Whoever held them since they were looked at may have replaced, made or removed files.
          for (let turn = 0; turn < maxTurns; turn++) {
            yield* gate.wait(ticket)
            const { keys, leads } = yield* lookAt(paths)
            if ([...keys].every((key) => ticket.keys.has(key))) return leads
            gate.again(ticket, { writes: keys })
          }
          return yield* fail(paths[0] ?? "", { _tag: "Other", code: "EBUSY" })
        })
        return yield* restore(Effect.flatMap(toChange(settle), (leads) => use(heldBy(leads, ticket.keys)))).pipe(
          Effect.ensuring(Effect.sync(() => gate.leave(ticket)))
        )
      })
    ).pipe(Effect.withSpan("WorkspaceFiles.hold"))

  const contentOf = (path: string, place: Walk.Place) =>
    Effect.acquireUseRelease(
      openFound(place),
      ({ fd, stats }) =>
        stats.size > FileContent.maxBytes
          ? Effect.fail(FileContent.tooLarge)
          : Effect.map(readFully(calls, fd, 0, Number(stats.size)), (bytes) => ({
              bytes,
              hash: FileContent.hashOf(bytes),
              stats
            })),
      ({ fd }) => Effect.ignore(attempt(() => calls.close(fd)))
    ).pipe(
      Effect.mapError((code) => {
        const sizeBytes = Number(place.found?.stats.size ?? 0)
        const reason: Walk.Reason =
          code === FileContent.tooLarge
            ? { _tag: "TooLarge", sizeBytes, maxBytes: FileContent.maxBytes }
            : Walk.reasonOf(code)
        return new FileUnreachable({ path, reason })
      })
    )

  const heldBy = (leads: ReadonlyMap<string, Lead>, keys: Pick<ReadonlySet<string>, "has">): Held => {
    const heldPlace = (path: string, pass: Walk.Pass, file: "open" | "look") =>
      leads.has(path) ? place(path, pass, file) : fail(path, { _tag: "InvalidPath", why: "it is not held" })

    /** What was read while it was held, where the times will tell if it changes. */
    const known = new Map<string, FileContent.FileContent>()

    const readOne = (path: string, pass: Walk.Pass) =>
      Effect.flatMap(heldPlace(path, pass, "open"), (place) =>
        place.found === undefined
          ? Effect.succeed(undefined)
          : Effect.flatMap(contentOf(path, place), (content) => {
              if (!ReadStamps.isFresh(content.stats)) known.set(path, content)
              const { bytes, hash } = content
              return Effect.as(Walk.letGo(pass, place), { bytes, hash } satisfies Content)
            })
      )

    const readAll = (paths: ReadonlyArray<string>) =>
      toChange(Walk.passing(walker, (pass) => Effect.forEach(paths, (path) => readOne(path, pass))))

    const read = (path: string) => toChange(Walk.passing(walker, (pass) => readOne(path, pass)))

    /** A file that somebody else put there in the meantime is held by its name, unless it has others. */
    const isHeld = (place: Walk.Place) =>
      keysOf(place).every(
        (key) =>
          keys.has(key) ||
          (place.found !== undefined && place.found.stats.nlink === 1n && key === Walk.keyOf(place.found.stats))
      )

    /**
     * What a change starts from. A file of several names is always read again: its old content will be written back
     * from here, and what was read before was given away.
     */
    const startOf = (path: string, pass: Walk.Pass): Effect.Effect<Start, FileUnreachable> => {
      const before = known.get(path)
      const readAgain = Effect.flatMap(heldPlace(path, pass, "open"), (place): Effect.Effect<Start, FileUnreachable> =>
        place.found === undefined || !isHeld(place)
          ? Effect.succeed({ place, old: undefined })
          : Effect.map(contentOf(path, place), (old) => ({ place, old }))
      )
      if (before === undefined) return readAgain
      return Effect.flatMap(heldPlace(path, pass, "look"), (place) => {
        const stats = place.found?.stats
        const isKnown = stats !== undefined && stats.nlink === 1n && ReadStamps.isSame(before.stats, stats)
        return isKnown ? Effect.succeed({ place, old: before }) : readAgain
      })
    }

    const plan = Effect.fnUntraced(function* (session: Session, change: Change, pass: Walk.Pass) {
      const { path } = change
      const { place, old } = yield* startOf(path, pass)
      const name = yield* shown(pass, place.path)
      const refuse = (reason: CommitFailed["reason"]) => Effect.fail(new CommitFailed({ path: name, reason }))
      if (!isHeld(place)) return yield* refuse({ _tag: "Changed", since: "planned" })
      if (old !== undefined && stamps.isChanged(session, place.path, old)) {
        return yield* refuse({ _tag: "Changed", since: "read" })
      }
      if (change.expected === "absent" && old !== undefined) return yield* refuse({ _tag: "Exists" })
      if (change.expected !== "absent" && change.expected !== old?.hash) {
        return yield* refuse({ _tag: "Changed", since: "planned" })
      }
      if (old !== undefined && change._tag === "Write") {
        yield* unreachable(path)(attempt(() => calls.accessToWrite(Walk.itself(place))))
      }
      yield* Walk.letGo(pass, place)
      const model =
        old?.stats ??
        (change._tag === "Write" && change.from !== undefined
          ? (yield* heldPlace(change.from, pass, "look")).found?.stats
          : undefined)
      if (change._tag === "Delete" && place.link !== undefined) {
        const { parent, name, stats } = place.link
        const real = FileName.join([...parent.names, name])
        // The file behind it stays: nothing of it is deleted, and no diff says so.
        const planned: Commit.Planned = {
          change,
          shown: yield* shown(pass, real),
          parent,
          below: [name],
          old,
          newHash: undefined,
          stats,
          model: undefined
        }
        return { planned, real, key: real, isLink: true }
      }
      const newHash = change._tag === "Write" ? FileContent.hashOf(change.bytes) : undefined
      const key = old === undefined ? place.path : Walk.keyOf(old.stats)
      const { parent, below } = place
      const planned: Commit.Planned = { change, shown: name, parent, below, old, newHash, stats: old?.stats, model }
      return { planned, real: place.path, key, isLink: false }
    })

    const commit = Effect.fn("WorkspaceFiles.commit")((changes: ReadonlyArray<Change>) =>
      toChange(
        Walk.passing(
          walker,
          Effect.fnUntraced(function* (pass: Walk.Pass) {
            const session = yield* CurrentSession
            const plans = yield* Effect.forEach(changes, (change) => plan(session, change, pass))
            yield* disjoint(plans)
            if (plans.length === 0) return []
            const told: Array<Omit<Committed, "notKept">> = []
            const notKept = yield* Commit.run(
              pass,
              intents,
              plans.map(({ planned }) => planned),
              Effect.forEach(plans, (plan) => Effect.sync(() => told.push(tell(plan))), { discard: true })
            )
            for (const { planned, real } of plans) {
              if (planned.newHash === undefined) stamps.forget(session, real)
              else yield* stamps.record(session, real, { hash: planned.newHash })
            }
            return told.map((each, index): Committed => ({ ...each, notKept: notKept[index] ?? [] }))
          })
        )
      )
    )

    return { leads, read, readAll, commit }
  }

  return WorkspaceFiles.of({ open, resolve, list, display, keys, hold })
})

/** What cannot be reached was to be changed. */
const toChange = <A, E, R>(
  effect: Effect.Effect<A, E | FileUnreachable, R>
): Effect.Effect<A, E | FileUnreachable, R> =>
  Effect.mapError(effect, (failure) =>
    failure instanceof FileUnreachable
      ? new FileUnreachable({ path: failure.path, reason: failure.reason, toChange: true })
      : failure
  )

interface Start {
  readonly place: Walk.Place
  readonly old: FileContent.FileContent | undefined
}

interface Plan {
  readonly planned: Commit.Planned
  readonly real: FileName.Raw
  /** Of the file. */
  readonly key: string
  /** The link is changed, not what it leads to. */
  readonly isLink: boolean
}

/** What will have become of a change. */
const tell = ({ planned, isLink }: Plan): Omit<Committed, "notKept"> => {
  const { change, newHash, old } = planned
  const written = change._tag === "Write" ? change.bytes : undefined
  return {
    path: planned.shown,
    kind: written === undefined ? "deleted" : old === undefined ? "created" : "changed",
    ...(old === undefined ? {} : { oldHash: old.hash }),
    ...(newHash === undefined ? {} : { newHash }),
    ...(isLink ? {} : FileDiff.make(planned.shown, old?.bytes, written))
  }
}

/** Of one file there is one change; and what becomes a file is not also the folder of another. */
const disjoint = Effect.fnUntraced(function* (plans: ReadonlyArray<Plan>) {
  const seen = new Map<string, Change>()
  const invalid = (planned: Commit.Planned, why: string) =>
    new FileUnreachable({ path: planned.change.path, reason: { _tag: "InvalidPath", why } })
  for (const { planned, real, key } of plans) {
    const { change } = planned
    const twin = seen.get(key)
    // Several names of one file may go together.
    const other = seen.get(real) ?? (twin?._tag === "Delete" && change._tag === "Delete" ? undefined : twin)
    if (other !== undefined)
      return yield* invalid(planned, `it is the same file as ${other.path}, which is changed too`)
    seen.set(real, change)
    if (twin === undefined) seen.set(key, change)
  }
  for (const { planned } of plans) {
    const names = [...planned.parent.names, ...planned.below]
    for (let depth = planned.parent.names.length + 1; depth < names.length; depth++) {
      const above = seen.get(FileName.join(names.slice(0, depth)))
      if (above !== undefined) return yield* invalid(planned, `${above.path} is a file, not a directory`)
    }
  }
})
