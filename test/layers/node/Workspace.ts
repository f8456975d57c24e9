/**
 * A workspace in a directory of its own, for tests that need real files.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Session from "../../../src/Session.ts"

/** What is in it: text or bytes by path. */
export type Tree = Readonly<Record<string, string | Uint8Array>>

/**
 * Makes `ws` with the given files in it, beside which a test may put what must
 * stay out of reach. Removed when the scope closes.
 */
export const make = (tree: Tree = {}, where: string = os.tmpdir()) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const top = fs.realpathSync(fs.mkdtempSync(path.join(where, "toolstream-")))
      const root = path.join(top, "ws")
      fs.mkdirSync(root)
      for (const [name, content] of Object.entries(tree)) {
        fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
        fs.writeFileSync(path.join(root, name), content)
      }
      return { top, root }
    }),
    ({ top }) => Effect.sync(() => fs.rmSync(top, { recursive: true, force: true }))
  )

/** Runs in a session there, with what `layer` gives. */
export const within = <A, E>(root: string, layer: Layer.Layer<A, E>) =>
  Layer.provideMerge(layer, Session.layer({ workspace: root }))
