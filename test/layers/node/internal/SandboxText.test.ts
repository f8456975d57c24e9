import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Bubblewrap from "../../../../layers/node/internal/Bubblewrap.ts"
import { isInside, type View } from "../../../../layers/node/internal/SandboxView.ts"
import * as Seatbelt from "../../../../layers/node/internal/Seatbelt.ts"
import { Sandbox, writes } from "../../../../src/Sandbox.ts"

/** A path in a small world, so that many of them are above others. */
const Place = Schema.Array(Schema.Literals(["a", "b", "tmp", "run"])).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(4)
)
const pathOf = (names: ReadonlyArray<string>) => `/${names.join("/")}`

const host: Bubblewrap.Host = { running: ["/run"], needed: ["/run/a"], temporary: ["/tmp"], settings: [] }

const viewOf = (options: Partial<View>): View => ({
  sandbox: ["workspace"],
  workspace: "/home/u/work",
  temporary: "/tmp/base/session-0",
  base: "/tmp/base",
  hidden: [],
  guarded: [],
  fixed: [],
  sockets: [],
  ...options
})

/** What is found at a path in the sandbox: the last that was laid over it decides. */
const found = (layers: ReadonlyArray<Bubblewrap.Layer>, at: string): Bubblewrap.Layer | undefined =>
  layers.findLast((layer) => isInside(layer.at, at))

/** Whether that is what the host has there. */
const isHosts = (layer: Bubblewrap.Layer | undefined) =>
  layer === undefined || ("bind" in layer && layer.bind === layer.at)

describe("the words for bubblewrap", () => {
  it.effect.prop(
    "whatever lies above what: nothing of the host's is written outside of the workspace, nothing hidden is seen",
    [Sandbox, Place, Schema.Array(Place), Schema.Array(Place), Place],
    ([sandbox, workspace, hidden, sockets, somewhere]) =>
      Effect.sync(() => {
        const confined = writes(sandbox) !== "anywhere"
        const view = viewOf({
          sandbox,
          workspace: pathOf(workspace),
          hidden: confined ? hidden.map((names) => ({ path: pathOf(names), type: "folder" })) : [],
          sockets: sockets.map(pathOf).filter((socket) => !isInside(pathOf(workspace), socket)),
          temporary: confined ? "/tmp/base/session-0" : undefined
        })
        const layers = Bubblewrap.layers(view, host, "/tmp/base/empty")
        const at = pathOf(somewhere)
        const there = found(layers, at)
        const inside = isInside(view.workspace, at)
        if (confined && there !== undefined && "bind" in there && there.writable && isHosts(there)) {
          assert.isTrue(inside && writes(sandbox) === "workspace")
        }
        // What is needed is shown, whatever is above it.
        const isNeeded = (secret: string) => host.needed.some((need) => isInside(secret, need) && isInside(need, at))
        const secrets = view.hidden.filter(({ path }) => isInside(path, at) && !isNeeded(path))
        // A workspace below a secret was chosen by whoever chose it.
        const chosen = secrets.every(({ path }) => inside && isInside(path, view.workspace))
        if (secrets.length > 0 && !chosen) assert.isFalse(isHosts(there), `${at} in ${JSON.stringify(layers)}`)
        if (view.sockets.some((socket) => socket === at)) assert.isFalse(isHosts(there))
        // The workspace is what it is, where nothing hidden is in it.
        if (inside && !view.hidden.some(({ path }) => isInside(view.workspace, path) && isInside(path, at))) {
          assert.isTrue(isHosts(there), `${at} in ${JSON.stringify(layers)}`)
        }
      })
  )

  it("a variable is no option, whatever is in it, and one that cannot be told is refused", () => {
    const parts = (env: Record<string, string>) =>
      Bubblewrap.message(["--ro-bind", "/", "/"], "/w", env).toString().split("\0").slice(0, -1)
    assert.deepStrictEqual(parts({ A: "--bind", "": "x", "B=C": "d", E: "" }).slice(3), [
      "--chdir",
      "/w",
      "--setenv",
      "A",
      "--bind",
      "--setenv",
      "B",
      "C=d",
      "--setenv",
      "E",
      ""
    ])
    assert.throws(() => parts({ A: "x\0--bind\0/\0/" }), /NUL/)
    assert.throws(() => Bubblewrap.message([], "/w\0", {}), /NUL/)
    assert.throws(() => parts(Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`A${i}`, ""]))), /too many/)
  })
})

describe("the words for seatbelt", () => {
  const entry = (path: string, type: "folder" | "file" = "folder") => ({ path, type })

  it("workspace: what is written, what is not, and what is not seen", () => {
    const text = Seatbelt.profile(
      viewOf({
        temporary: "/private/tmp/base/session-0",
        hidden: [entry("/Users/u/.ssh"), entry("/Users/u/.netrc", "file")],
        guarded: [entry("/home/u/work/.git/hooks"), entry("/home/u/work/.git/config", "file")],
        fixed: ["/home/u/work/.git"]
      })
    )
    assert.strictEqual(
      text,
      `(version 1)
(allow default)
(deny appleevent-send)
(deny lsopen)
(deny job-creation)
(deny signal)
(allow signal (target same-sandbox))
(deny file-write*)
(allow file-write* (subpath "/home/u/work") (subpath "/private/tmp/base/session-0") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/stdout") (literal "/dev/stderr") (literal "/dev/dtracehelper") (subpath "/dev/fd"))
(deny file-write* (subpath "/home/u/work/.git/hooks") (literal "/home/u/work/.git/config"))
(deny file-write-unlink (literal "/home/u/work/.git"))
(deny file-read* file-write* (subpath "/Users/u/.ssh") (literal "/Users/u/.netrc"))
(deny network-outbound (remote unix-socket))
(allow network-outbound (literal "/private/var/run/mDNSResponder") (literal "/private/var/run/syslog") (subpath "/home/u/work") (subpath "/private/tmp/base/session-0"))`
    )
  })

  it("read-only: the workspace is not written; no-network: nothing is sent, and files are as they are", () => {
    const readOnly = Seatbelt.profile(viewOf({ sandbox: ["workspace", "read-only"] })).split("\n")
    assert.include(readOnly, "(deny file-write*)")
    assert.isUndefined(readOnly.find((line) => line.startsWith("(allow file-write*") && line.includes("/home/u/work")))
    const offline = Seatbelt.profile(viewOf({ sandbox: ["no-network"], temporary: undefined })).split("\n")
    assert.isFalse(offline.some((line) => line.includes("file-write")))
    assert.strictEqual(offline.at(-1), "(deny network*)")
  })

  it.effect.prop("no name of a folder ends the word that it is in", [Schema.String], ([name]) =>
    Effect.sync(() => {
      const text = Seatbelt.profile(viewOf({ workspace: `/${name}` }))
      // Read as Scheme reads it: what is left without the strings is the same for every name.
      const bare = text.replace(/"(?:\\[^]|[^"\\])*"/g, '""')
      const plain = Seatbelt.profile(viewOf({ workspace: "/x" })).replace(/"(?:\\[^]|[^"\\])*"/g, '""')
      assert.strictEqual(bare, plain)
    })
  )
})
