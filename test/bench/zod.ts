/**
 * The part of zod that the benchmarks use. It is installed for them only, so the types of the project must not need it.
 */

export interface Schema<out A> {
  readonly parse: (value: unknown) => A
}

export interface Zod {
  readonly object: <A extends object>(shape: { readonly [K in keyof A]: Schema<A[K]> }) => Schema<A>
  readonly string: () => Schema<string>
  readonly int: () => Schema<number>
}

export const load = (): Promise<Zod> => {
  const name: string = "zod"
  return import(name)
}
