/**
 * What the database says, as the journal's failures. Of its words only the server's and the client's message is
 * told: no statement, no parameter, no setting of the connection.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { JournalError } from "../../../src/Journal.ts"

/** The five letters of SQL's standard that say what is the matter, if the server said anything. */
export const stateOf = ({ reason: { cause } }: SqlError): string | undefined =>
  Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) ? cause.code : undefined

const messageOf = ({ message, reason: { cause } }: SqlError): string =>
  Predicate.hasProperty(cause, "message") && Predicate.isString(cause.message) && !message.includes(cause.message)
    ? `${message}: ${cause.message}`
    : message

/** 53100 is a full disk, 53200 no memory. */
export const fromSql = (error: SqlError): JournalError =>
  new JournalError({
    reason: stateOf(error)?.startsWith("53") === true && error.reason._tag !== "ConnectionError" ? "NoSpace" : "Io",
    detail: messageOf(error)
  })

/**
 * It is what was sent that cannot be kept, and it never will be: data that does not fit (class 22), a constraint
 * (23), a limit of the program (54), or what the client cannot put into a message.
 */
export const isOfData = (error: SqlError): boolean => {
  const state = stateOf(error)
  return state === undefined ? error.reason._tag === "UnknownError" : /^(22|23|54)/.test(state)
}

/** A transaction that cannot even be rolled back, as when its connection is lost, is a defect for `effect/sql`. */
export const attempt = <A, R>(
  effect: Effect.Effect<A, SqlError | JournalError, R>
): Effect.Effect<A, JournalError, R> =>
  effect.pipe(
    Effect.catchDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
    Effect.mapError((error) => (error._tag === "SqlError" ? fromSql(error) : error))
  )
