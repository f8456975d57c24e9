/** Somebody who does the same for a program: which package it is, and what of it is called. */
export interface Peer<out Run> {
  /** Whose version is told. */
  readonly package: string
  readonly what: string
  /** A package is loaded where it is measured, and nowhere else. */
  readonly load: () => Promise<Run>
}

/** The types of the project must do without what only the benchmarks install. */
export const imported = async <A>(name: string): Promise<A> => (await import(name)) as A
