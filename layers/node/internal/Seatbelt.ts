/**
 * A sandbox of macOS, in the language of its profiles: what `sandbox-exec -p` takes. The last rule that fits decides.
 *
 * Its text is tested. It was not run: the project has no macOS to run it on. A text that the system does not understand is
 * a sandbox that cannot be had, and nothing is started.
 *
 * @since 0.1.0
 */
import { hasNetwork, writes } from "../../../src/Sandbox.ts"
import type { Entry, View } from "./SandboxView.ts"

/** What programs write to that is no file. */
const devices = ["/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper"]

/** Through them names are resolved and lines are logged: of the network, and of nothing else. */
const neededSockets = ["/private/var/run/mDNSResponder", "/private/var/run/syslog"]

/**
 * @category converting
 * @since 0.1.0
 */
export const profile = (view: View): string => {
  const { guarded, hidden, sandbox, temporary, workspace } = view
  const confined = writes(sandbox) !== "anywhere"
  const own = [
    ...(writes(sandbox) === "workspace" ? [subpath(workspace)] : []),
    ...(temporary === undefined ? [] : [subpath(temporary)])
  ]
  return [
    "(version 1)",
    "(allow default)",
    // Others are not to be told to do what this one may not.
    "(deny appleevent-send)",
    "(deny lsopen)",
    "(deny job-creation)",
    "(deny signal)",
    "(allow signal (target same-sandbox))",
    ...(confined
      ? [
          "(deny file-write*)",
          rule("allow file-write*", [...own, ...devices.map(literal), subpath("/dev/fd")]),
          // A folder above them that could be renamed would take them with it.
          rule("deny file-write*", guarded.map(filterOf)),
          rule("deny file-write-unlink", view.fixed.map(literal)),
          rule("deny file-read* file-write*", hidden.map(filterOf))
        ]
      : []),
    "(deny network-outbound (remote unix-socket))",
    rule("allow network-outbound", [
      ...(hasNetwork(sandbox) ? neededSockets.map(literal) : []),
      subpath(workspace),
      ...(temporary === undefined ? [] : [subpath(temporary)])
    ]),
    ...(hasNetwork(sandbox) ? [] : ["(deny network*)"])
  ]
    .filter((line) => line !== "")
    .join("\n")
}

const rule = (what: string, filters: ReadonlyArray<string>): string =>
  filters.length === 0 ? "" : `(${what} ${filters.join(" ")})`

const filterOf = ({ path, type }: Entry): string => (type === "file" ? literal(path) : subpath(path))

const subpath = (path: string): string => `(subpath ${quoted(path)})`

const literal = (path: string): string => `(literal ${quoted(path)})`

/** A string of Scheme: whatever a folder is called, it ends nothing. */
const quoted = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&")}"`
