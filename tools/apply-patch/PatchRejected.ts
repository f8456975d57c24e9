/**
 * Why a patch was not applied, for the model that wrote it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { tiers } from "./Likeness.ts"

/** A line of a file, as a message shows it. */
const Shown = Schema.Struct({ line: Schema.Natural, text: Schema.String })

/**
 * The patch does not fit what is there. Of the files that it names, only those in `changed` were changed: none, unless
 * the tool applies each part of a patch on its own.
 *
 * Lines of the patch (`line`, `hunk`, `hunks`) and of files (`lines`, `closest`, `appliedAt`) are counted from 1.
 *
 * @category errors
 * @since 0.1.0
 */
export class PatchRejected extends Schema.TaggedError<PatchRejected>()("PatchRejected", {
  reason: Schema.Union([
    Schema.TaggedStruct("ParseError", { line: Schema.Natural, why: Schema.String }),
    Schema.TaggedStruct("HunkNotFound", {
      path: Schema.String,
      hunk: Schema.Natural,
      /** The text after `@@` that no line is like. */
      anchor: Schema.optionalKey(Schema.String),
      closest: Schema.Array(Shown),
      /** Where the file has what the hunk would make of it. */
      appliedAt: Schema.optionalKey(Schema.Natural)
    }),
    Schema.TaggedStruct("Ambiguous", {
      path: Schema.String,
      hunk: Schema.Natural,
      lines: Schema.Array(Schema.Natural),
      tier: Schema.Literals(tiers)
    }),
    Schema.TaggedStruct("Overlap", {
      path: Schema.String,
      hunks: Schema.Array(Schema.Natural),
      fileLine: Schema.Natural
    }),
    /** Its last line is to have no newline, but is not the last of the file. */
    Schema.TaggedStruct("NotAtEnd", { path: Schema.String, hunk: Schema.Natural }),
    Schema.TaggedStruct("FileExists", {
      path: Schema.String,
      line: Schema.Natural,
      by: Schema.Literals(["add", "move"])
    }),
    Schema.TaggedStruct("FileMissing", {
      path: Schema.String,
      line: Schema.Natural,
      similar: Schema.Array(Schema.String),
      /** It was there, before this patch deleted or moved it. */
      goneBefore: Schema.Boolean
    }),
    Schema.TaggedStruct("NotText", { path: Schema.String, line: Schema.Natural, kind: Schema.String }),
    Schema.TaggedStruct("NoChange", { path: Schema.String, line: Schema.Natural }),
    /** It is deleted or moved under one name and named by another, one of which is a link to the other. */
    Schema.TaggedStruct("SameFile", { path: Schema.String, other: Schema.String, line: Schema.Natural }),
    /** A file could not be reached or written after others were. */
    Schema.TaggedStruct("Stopped", { why: Schema.String })
  ]),
  /** The files that were changed nevertheless, as they are shown. */
  changed: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const { changed, reason } = this
    return `${explain(reason)} ${
      changed.length === 0
        ? "Nothing was changed."
        : `The parts of the patch before it were applied (${changed.join(", ")}): do not send them again.`
    }`
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export type Reason = PatchRejected["reason"]

const explain = (reason: Reason): string => {
  switch (reason._tag) {
    case "ParseError":
      return `Line ${reason.line} of the patch: ${reason.why}.`
    case "HunkNotFound": {
      const { anchor, appliedAt, closest, hunk, path } = reason
      const what =
        anchor === undefined
          ? `${path} does not contain the lines of the hunk at line ${hunk} of the patch.`
          : `${path} has no line \`${anchor}\`, which line ${hunk} of the patch names after @@.`
      if (appliedAt !== undefined) return `${what} It seems to be applied already: see line ${appliedAt} of the file.`
      if (closest.length === 0) return `${what} Nothing there is like them: read the file again.`
      const shown = closest.map(({ line, text }) => `${line}: ${text}`).join("\n")
      return `${what} The closest there is:\n${shown}\nCopy the lines exactly as the file has them.`
    }
    case "Ambiguous": {
      const { hunk, lines, path, tier } = reason
      const how = tier === "exact" ? "" : `, if differences of ${differences[tier]} are ignored`
      return (
        `The hunk at line ${hunk} of the patch fits ${path} at lines ${lines.join(" and ")}${how}. ` +
        "Add lines of context, or the function's line as @@ TEXT, so that it fits once."
      )
    }
    case "Overlap":
      return (
        `The hunks at lines ${reason.hunks.join(" and ")} of the patch both change line ${reason.fileLine} of ` +
        `${reason.path}. Make them one.`
      )
    case "NotAtEnd":
      return (
        `The hunk at line ${reason.hunk} of the patch says that its last line has no newline, but it is not at the end ` +
        `of ${reason.path}. Remove that line.`
      )
    case "FileExists":
      return reason.by === "add"
        ? `${reason.path} exists already (line ${reason.line} of the patch adds it). Use *** Update File, or another name.`
        : `${reason.path} exists already (line ${reason.line} of the patch moves a file to it). Delete it first, or use another name.`
    case "FileMissing": {
      const { goneBefore, line, path, similar } = reason
      if (goneBefore) return `Line ${line} of the patch: ${path} is deleted or moved by the patch itself before.`
      const meant = similar.length === 0 ? "" : ` Did you mean ${similar.join(", ")}?`
      return `${path} does not exist (line ${line} of the patch).${meant}`
    }
    case "NotText":
      return `${reason.path} is ${reason.kind}: it cannot be patched. Use a program that writes this format.`
    case "NoChange":
      return (
        `Line ${reason.line} of the patch: ${reason.path} would stay as it is. ` +
        "Mark what to remove with - and what to add with +."
      )
    case "SameFile":
      return (
        `Line ${reason.line} of the patch: ${reason.path} and ${reason.other} are links to the same file. ` +
        "Use one of the names, or two patches."
      )
    case "Stopped":
      return reason.why
  }
}

/**
 * What each tier ignores, in words.
 *
 * @category models
 * @since 0.1.0
 */
export const differences = {
  "trailing space": "white space at the ends of lines",
  indentation: "indentation",
  "look-alikes": "look-alike characters (dashes, quotes, spaces)",
  composition: "composed and decomposed characters"
} as const
