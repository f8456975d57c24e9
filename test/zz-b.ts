import * as F from "./bench/files.ts"
const t = performance.now()
const r = await F.measure(Number(process.argv[2] ?? 9))
for (const x of r)
  console.log(
    x.row.id,
    x.row.ours.toFixed(1),
    x.row.theirs.toFixed(1),
    x.row.ratio.toFixed(2),
    x.quartiles.map((q) => q.toFixed(2)).join(".."),
    x.row.floor
  )
console.log(((performance.now() - t) / 1000).toFixed(1) + " s")
