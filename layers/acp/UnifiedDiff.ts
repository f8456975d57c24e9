/**
 * The changed places of a unified diff of one file, each as its old and its new text.
 *
 * @since 0.1.0
 */

/**
 * @category models
 * @since 0.1.0
 */
export interface Hunk {
  /** Undefined if there was no file. */
  readonly oldText: string | undefined
  readonly newText: string
  /** Where it is in the new file, from 1. */
  readonly line: number
}

/**
 * @category converting
 * @since 0.1.0
 */
export const hunks = (diff: string): ReadonlyArray<Hunk> => {
  const isNew = diff.startsWith("--- /dev/null\n")
  const [, ...bodies] = `\n${diff}`.split(/\n(?=@@ -)/)
  return bodies.map((body) => {
    const [head = "", ...lines] = body.split("\n")
    const from = Number(/^@@ -\S+ \+(\d+)/.exec(head)?.[1] ?? 1)
    return {
      oldText: isNew ? undefined : side(lines, "-"),
      newText: side(lines, "+"),
      line: Math.max(1, from)
    }
  })
}

/** What is kept and what has this mark. The last line has a newline, unless it is said that it has none. */
const side = (lines: ReadonlyArray<string>, mark: "-" | "+"): string =>
  lines
    .flatMap((line, index) =>
      line.startsWith(" ") || line.startsWith(mark)
        ? [`${line.slice(1)}${lines[index + 1]?.startsWith("\\") === true ? "" : "\n"}`]
        : []
    )
    .join("")
