import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Program from "./Program.ts"

const lines = (text: string): ReadonlyArray<{ readonly [key: string]: unknown }> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { readonly [key: string]: unknown })

const ids = (calls: ReadonlyArray<{ readonly [key: string]: unknown }>) =>
  calls.map(({ call, reason, state }) => [(call as { readonly externalId: string }).externalId, state, reason])

describe("journal", { timeout: 60_000 }, () => {
  it("a killed program's calls are found, and recovered once (C123)", async () => {
    using place = Program.temporary("unused", "")
    const journal = path.join(place.directory, "a", "journal")
    await using running = new Program.Program(["run", "--json", "--journal", journal])
    running.write(
      Program.lines(
        { id: "1", name: "read_file", parameters: { path: "package.json", limit: 1 } },
        Program.bash("2", "echo begun; sleep 100")
      )
    )
    await running.until((stdout) => /"externalId":"1".*\n/.test(stdout) && stdout.includes("begun"))
    assert.strictEqual(fs.statSync(journal).mode & 0o777, 0o700)
    running.signal("SIGKILL")
    await running.ended

    const before = await Program.toolstream(["journal", journal, "--json"])
    assert.deepStrictEqual(ids(lines(before.stdout)), [
      ["1", "succeeded", undefined],
      ["2", "started", undefined]
    ])
    const recovered = await Program.toolstream(["journal", journal, "--recover", "--json", "--yes"])
    assert.strictEqual(recovered.status, 0, recovered.stderr)
    assert.strictEqual(lines(recovered.stdout).length, 1)
    const again = await Program.toolstream(["journal", journal, "--recover", "--json"])
    assert.deepStrictEqual([again.status, again.stdout], [0, ""])
    const after = await Program.toolstream(["journal", journal, "--json"])
    assert.deepStrictEqual(ids(lines(after.stdout)), [
      ["1", "succeeded", undefined],
      ["2", "failed", "Lost"]
    ])

    // A line in the middle that is not what was written is told, and all others are read.
    const [file = ""] = fs.readdirSync(journal).filter((name) => name.endsWith(".jsonl"))
    const text = fs.readFileSync(path.join(journal, file), "utf8")
    fs.writeFileSync(path.join(journal, file), text.replace('"limit":1', '"limit":2'))
    const corrupt = await Program.toolstream(["journal", journal])
    assert.strictEqual(corrupt.status, 1)
    assert.match(corrupt.stdout, /\d+ bytes at \d+ are not what was written/)
    assert.match(corrupt.stdout, /^session .*\n {2}\S+Z {2}succeeded .*read_file/m)
    assert.match(corrupt.stdout, /failed .*bash .*Lost: /)
  })

  it("the next program that uses the journal ends what the last one left open, and says so", async () => {
    using place = Program.temporary("unused", "")
    const journal = path.join(place.directory, "journal")
    await using running = new Program.Program(["run", "--json", "--journal", journal])
    running.write(Program.lines(Program.bash("1", "echo begun; sleep 100")))
    await running.until((stdout) => stdout.includes("begun"))
    running.signal("SIGKILL")
    await running.ended
    const read = JSON.stringify({ path: "package.json", limit: 1 })
    const next = await Program.toolstream(["call", "read_file", read, "--journal", journal])
    assert.deepStrictEqual([next.status, next.stdout.includes("bash")], [0, false], next.stderr)
    // What it left running may have been ended by another program that started just now.
    assert.match(next.stderr, /^Left open by a program that died: \S+ {2}bash {2}Lost: /m)
    const after = await Program.toolstream(["journal", journal, "--json"])
    assert.deepStrictEqual(
      lines(after.stdout)
        .map(({ call, state }) => [(call as { readonly name: string }).name, state])
        .toSorted(),
      [
        ["bash", "failed"],
        ["read_file", "succeeded"]
      ]
    )
  })

  it("follows what another process does", async () => {
    using place = Program.temporary("unused", "")
    const journal = path.join(place.directory, "journal")
    await using running = new Program.Program(["run", "--json", "--journal", journal])
    running.write(Program.lines(Program.bash("1", "echo begun; sleep 100")))
    await running.until((stdout) => stdout.includes("begun"))
    await using following = new Program.Program(["journal", journal, "--follow"])
    await following.until((stdout) => /open .*started/.test(stdout))
    running.signal("SIGINT")
    await following.until((stdout) => /failed .*Interrupted/.test(stdout))
    following.signal("SIGINT")
    assert.strictEqual((await following.ended).status, 130)
    assert.strictEqual((await running.ended).status, 130)
  })

  it("a folder that cannot be one is told before anything runs", async () => {
    using place = Program.temporary("file.txt", "text")
    const call = ["call", "read_file", '{"path":"file.txt"}', "--workspace", place.directory, "--journal"]
    const file = await Program.toolstream([...call, place.file])
    assert.deepStrictEqual([file.status, file.stdout], [2, ""])
    assert.match(file.stderr, /file\.txt as a journal: it is no directory/)
    fs.chmodSync(place.directory, 0o755)
    const shared = await Program.toolstream([...call, place.directory])
    assert.deepStrictEqual([shared.status, shared.stdout], [2, ""])
    assert.match(shared.stderr, /holds other files; name a folder of its own/)
    assert.strictEqual(fs.statSync(place.directory).mode & 0o777, 0o755)
    const missing = await Program.toolstream(["journal", path.join(place.directory, "none")])
    assert.deepStrictEqual([missing.status, missing.stdout], [2, ""])
    assert.match(missing.stderr, /it does not exist/)
  })
})
