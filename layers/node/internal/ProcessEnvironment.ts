/**
 * What of the program's environment its commands get: all but what is named like a secret.
 * A model that reads `env` has read it, and what a command sends out may be made of it.
 *
 * @since 0.1.0
 */

/**
 * `core`: what is named like a secret is withheld. `all`: nothing is.
 *
 * @category models
 * @since 0.1.0
 */
export type Inherit = "core" | "all"

/** Words that are in the name of a secret wherever they stand. A tokenizer is none. */
const telling = /TOKEN(?!IZ)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|APIKEY/

/**
 * Words that are if they stand alone or at the end. `SSH_AUTH_SOCK` says where an agent is, which keeps the keys to
 * itself; `PWD` is a directory.
 */
const ending = /(?:KEYS?|[A-Z\d]_?PWD|_PASS|_PAT|_AUTH|_AUTH_CONFIG)$|(?:^|_)KEYS?_/

const directories = new Set(["PWD", "OLDPWD"])

/**
 * Whether a variable is named like a secret.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isSecret = (name: string): boolean => {
  const upper = name.toUpperCase()
  return !directories.has(upper) && (telling.test(upper) || ending.test(upper))
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  environment: NodeJS.ProcessEnv,
  inherit: Inherit
): {
  readonly passed: NodeJS.ProcessEnv
  /** Names, sorted. */
  readonly withheld: ReadonlyArray<string>
} => {
  const names = Object.keys(environment)
  const withheld = inherit === "all" ? [] : names.filter(isSecret).toSorted()
  const kept = new Set(withheld)
  return {
    passed: Object.fromEntries(names.flatMap((name) => (kept.has(name) ? [] : [[name, environment[name]]]))),
    withheld
  }
}
