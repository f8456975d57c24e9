/**
 * What the author of a tool can do about a breach.
 *
 * @since 0.1.0
 */
import type { Law } from "../LawViolation.ts"

const advice: Record<Law, string> = {
  Endless:
    "Make every path of the handler end: resume an `Effect.callback` on failure and on close, too; give a loop its end " +
    "and a wait an `Effect.timeout`. A tool that is meant to run until it is cancelled is checked with `allow: " +
    '["Endless"]`; one that only takes longer, with a larger `limit`.',
  Deaf:
    "Let it be interrupted: take the loop or the wait out of `Effect.uninterruptible`, or open it with " +
    "`Effect.uninterruptibleMask` and `restore`; let finalizers be short; wrap a promise with `Effect.tryPromise` and " +
    "pass its AbortSignal on. If it needs longer to clean up, declare `clocks: () => ({ grace })`.",
  Unquiet:
    "End what the tool started when it is interrupted: return the cleanup from `Effect.callback` (clear the timer, " +
    "remove the listener, close the handle), use `Effect.acquireRelease`, fork with `Effect.forkChild` or `forkScoped` " +
    "and not with `runFork`, and pass the AbortSignal of `Effect.tryPromise` on.",
  Defect:
    "Declare what can go wrong as `failure` and fail with it: `Effect.try` around what throws, `Effect.tryPromise` " +
    "around what returns a promise (`Effect.promise` makes a defect of a rejection).",
  Misfit:
    "Make the schema and what the handler gives agree: correct the value, or widen the schema of the tool that it is " +
    "said to break. `Schema.Int` refuses fractions, `Schema.Finite` refuses NaN, an absent key wants `Schema.optionalKey`.",
  Parameters:
    "A value that the schema of the parameters admits did not come back from JSON. Use schemas whose JSON form keeps " +
    "all that they check, or pass `parameters`.",
  Terminals:
    "Look at the runtime, or at the middleware in it: `next` is run once, and its stream is returned or replaced, never " +
    "dropped.",
  Progress: "Look at the runtime, or at the middleware in it: progress is passed on in the order in which it came.",
  Agreement: "Look at the runtime: what the reader gets is what was written to the journal, and not before.",
  Ending: "Look at the runtime, or at the middleware in it: the reason of the terminal is that of who ended the call.",
  Early: "Look at the runtime, or at the middleware in it: wait for the fiber of the tool before you answer.",
  Late: "Look at the runtime, or at the middleware in it: after `grace` a call is given up, whatever its tool does.",
  Leftovers:
    "Look at the runtime, or at the middleware in it: fork into the scope of the call, and let go of it at its end."
}

/** In words for what was seen, where more is known than the law that was broken. */
export const adviceOn = (law: Law, detail: string): string => {
  if (law === "Defect" && detail.includes("Expected a ToolStream or an Effect")) {
    return detail.includes("undefined")
      ? "The handler returned nothing. Return a ToolStream or an Effect from it: look for a missing `return`, or for braces around the body of an arrow function."
      : "Return a ToolStream or an Effect from the handler. A promise is wrapped with `Effect.tryPromise`, a value with `Effect.succeed`; an async function becomes `Effect.fn`."
  }
  if (law === "Misfit" && /undefined/.test(detail)) {
    return `Return the success from the effect: a handler without a result declares no \`success\`. ${advice.Misfit}`
  }
  return advice[law]
}

/** For a call that did not end in virtual time. */
export const realWorld =
  'If the tool waits for the real world (a promise, a file, a process, a timer), check it with `clock: "real"`.'
