/**
 * What a call needs to itself, or shares with others: files, a session, a host.
 *
 * A tool says it of its parameters, and nothing has to be looked up for it. Two
 * calls are in conflict if one writes what the other reads or writes, or if one is
 * exclusive. Where a gate stands around the tools (`layers/Resources`), calls in
 * conflict wait in the order of their arrival; the others run together.
 *
 * @since 0.1.0
 */

/**
 * Something that calls use: a file, named by its path, or a name that all who use it agree on, such as
 * `host:example.com`.
 *
 * @category models
 * @since 0.1.0
 */
export type Resource = string | { readonly file: string }

/**
 * @category constructors
 * @since 0.1.0
 */
export const file = (path: string): Resource => ({ file: path })

/**
 * @category models
 * @since 0.1.0
 */
export interface Resources {
  readonly reads?: ReadonlyArray<Resource> | undefined
  readonly writes?: ReadonlyArray<Resource> | undefined
  /** Alone, whatever others use. */
  readonly exclusive?: boolean | undefined
  /**
   * Of what may run at once. Default: 1. A call that only waits for calls of its own weighs 0. More than all there is
   * counts as all of it.
   */
  readonly weight?: number | undefined
}
