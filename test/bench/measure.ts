/**
 * Measures one part and tells its parent. `node --no-flush-bytecode test/bench/measure.ts PART ROUNDS`
 */
import { parts } from "./parts.ts"

const [name = "", rounds = "1"] = process.argv.slice(2)
const measured = await parts[name]!.measure(Number(rounds))
if (process.send === undefined) console.log(measured.map(({ row }) => row))
else process.send(measured, () => process.disconnect())
