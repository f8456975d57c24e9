/**
 * What is read from a context, for those who are asked about the same context again
 * and again: most calls come out of the one that the call before came out of.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"

/** @internal */
export const remembering = <A>(
  read: (context: Context.Context<never>) => A
): ((context: Context.Context<never>) => A) => {
  let last: Context.Context<never> | undefined
  let known: A
  return (context) => {
    if (context !== last) {
      known = read(context)
      last = context
    }
    return known
  }
}
