import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ProcessEnvironment from "../../../../layers/node/internal/ProcessEnvironment.ts"
import * as NodeProcesses from "../../../../layers/node/Processes.ts"
import { bashCommand, Processes } from "../../../../src/Processes.ts"

describe("the environment of commands", () => {
  it.each([
    "OPENAI_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "npm_config_//registry.example.com/:_authToken",
    "NODE_AUTH_TOKEN",
    "PGPASSWORD",
    "MYSQL_PWD",
    "DB_PASS",
    "SSHPASS_PASSPHRASE",
    "GITHUB_PAT",
    "DOCKER_AUTH_CONFIG",
    "COMPOSER_AUTH",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "client_secret",
    "Key",
    "ENCRYPTION_KEYS",
    "apikey"
  ])("is without %s", (name) => {
    assert.isTrue(ProcessEnvironment.isSecret(name))
    const { passed, withheld } = ProcessEnvironment.make({ PATH: "/bin", [name]: "hush" }, "core")
    assert.deepStrictEqual({ passed, withheld }, { passed: { PATH: "/bin" }, withheld: [name] })
  })

  it.each([
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "LANG",
    "TERM",
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "XDG_CONFIG_HOME",
    "KEYTIMEOUT",
    "KEYMAP",
    "TOKENIZERS_PARALLELISM",
    "PIP_INDEX_URL",
    "JAVA_HOME",
    "GIT_AUTHOR_NAME",
    "GNOME_KEYRING_CONTROL",
    "COMPASS",
    "CI"
  ])("has %s", (name) => {
    assert.isFalse(ProcessEnvironment.isSecret(name))
  })

  it("is all there is, if that is asked for", () => {
    const environment = { PATH: "/bin", B_TOKEN: "b", A_TOKEN: "a" }
    assert.deepStrictEqual(ProcessEnvironment.make(environment, "all"), { passed: environment, withheld: [] })
    assert.deepStrictEqual(ProcessEnvironment.make(environment, "core").withheld, ["A_TOKEN", "B_TOKEN"])
  })

  const names = ["TOOLSTREAM_TEST_TOKEN", "TOOLSTREAM_TEST_PLAIN"] as const
  const [token, plain] = names

  /** What a command sees of them, and which of them it was not given. */
  const seen = (options: NodeProcesses.Options, env?: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const { spawn } = yield* Processes
      const process = yield* spawn(
        bashCommand(`for name in ${names.join(" ")}; do echo "$name \${!name}"; done`, { env })
      )
      const text = yield* Stream.runFold(
        process.output,
        () => "",
        (text, { bytes }) => text + Buffer.from(bytes).toString()
      )
      return { lines: text.trim().split("\n"), withheld: process.withheld.filter((name) => name === token) }
    }).pipe(Effect.scoped, Effect.provide(NodeProcesses.layerWith(options)))

  it.live("is told with each process: what was withheld, unless all is asked for or it comes with the call", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const name of names) process.env[name] = "set"
        }),
        () =>
          Effect.sync(() => {
            for (const name of names) delete process.env[name]
          })
      )
      assert.deepStrictEqual(yield* seen({}), { lines: [`${token} `, `${plain} set`], withheld: [token] })
      assert.deepStrictEqual(yield* seen({ inherit: "all" }), { lines: [`${token} set`, `${plain} set`], withheld: [] })
      const given = yield* seen({}, { [token]: "given" })
      assert.deepStrictEqual(given, { lines: [`${token} given`, `${plain} set`], withheld: [] })
    })
  )
})
