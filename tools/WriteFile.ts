/**
 * `write_file`: the whole content of a file, new or old. No progress.
 *
 * It is all or nothing, and a file that somebody else changed since this session
 * read it is not overwritten: the port sees to both. The content is written as it
 * is, with its own line ends.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Resources from "../src/Resources.ts"
import * as Tool from "../src/Tool.ts"
import type { ToolContent } from "../src/ToolContent.ts"
import { CommitFailed, FileUnreachable, WorkspaceFiles } from "../src/WorkspaceFiles.ts"

/** U+FEFF, in UTF-8. */
const byteOrderMark = [0xef, 0xbb, 0xbf] as const

/**
 * What was written.
 *
 * @category models
 * @since 0.1.0
 */
export const Written = Schema.Struct({
  path: Schema.String,
  /** There was no such file. */
  created: Schema.Boolean,
  sizeBytes: Schema.Natural,
  /** SHA-256, in hex. */
  oldHash: Schema.optionalKey(Schema.String),
  newHash: Schema.String,
  /** A unified diff; absent where a file is not text, or too large to compare. */
  diff: Schema.optionalKey(Schema.String),
  /** The byte order mark of the old file was put before the content, which had none. */
  keptByteOrderMark: Schema.Boolean,
  /** What could not be kept of the old file. */
  notKept: Schema.Array(Schema.String)
})
export type Written = typeof Written.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class WriteFile extends Tool.Service<WriteFile>()("write_file", {
  title: "Write file",
  description:
    "Create a file, or replace the whole content of one. Parent folders are created. The content is written exactly " +
    "as given, in UTF-8; if the file had a UTF-8 byte order mark and the content has none, the mark stays. To change " +
    "a part of a file use edit_file.",
  parameters: {
    path: Schema.String.annotate({ description: "Absolute, or relative to the workspace." }),
    content: Schema.String.annotate({ description: "All of it. Empty makes an empty file." })
  },
  success: Written,
  failure: Schema.Union([FileUnreachable, CommitFailed]),
  resources: ({ path }) => ({ writes: [Resources.file(path)] }),
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  toContent: (success) => content(success)
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = WriteFile.toLayer(
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles

    return Effect.fn("WriteFile.write")(function* ({ content, path }) {
      const text = encode(content)
      return yield* files.hold([path], (held) =>
        Effect.gen(function* () {
          const old = yield* held.read(path)
          const keptByteOrderMark = old !== undefined && startsWithMark(old.bytes) && !startsWithMark(text)
          const bytes = keptByteOrderMark ? encode(`\ufeff${content}`) : text
          const [committed] = yield* held.commit([{ _tag: "Write", path, bytes, expected: old?.hash ?? "absent" }])
          const { kind, newHash, notKept, oldHash, diff, path: shown } = committed!
          return {
            path: shown,
            created: kind === "created",
            sizeBytes: bytes.length,
            ...(oldHash === undefined ? {} : { oldHash }),
            newHash: newHash!,
            ...(diff === undefined ? {} : { diff }),
            keptByteOrderMark,
            notKept: old !== undefined && isUtf16(old.bytes) ? [...notKept, "its encoding, UTF-16"] : notKept
          }
        })
      )
    })
  })
)

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const startsWithMark = (bytes: Uint8Array): boolean => byteOrderMark.every((byte, index) => bytes[index] === byte)

const isUtf16 = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)

const content = ({ created, keptByteOrderMark, notKept, path, sizeBytes }: Written): ReadonlyArray<ToolContent> => {
  const text = [
    `${created ? "Created" : "Replaced"} ${path} (${sizeBytes} byte${sizeBytes === 1 ? "" : "s"}).`,
    ...(keptByteOrderMark ? ["Its byte order mark was kept."] : []),
    ...(notKept.length === 0 ? [] : [`Not kept: ${notKept.join(", ")}.`])
  ]
  return [{ type: "text", text: text.join(" ") }]
}
