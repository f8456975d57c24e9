/**
 * Exact equality of types: `any` equals only `any`, and a type its like alone.
 *
 * @since 0.1.0
 */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only for `true`. */
export const holds = <_T extends true>(): void => {}
