/** How cost grows, curve by curve. Each is traced in a process of its own. */
import type { Curve } from "./Curve.ts"

export interface Entry {
  readonly load: () => Promise<{ readonly trace: () => Promise<ReadonlyArray<Curve>> }>
}

export const curves: Readonly<Record<string, Entry>> = {
  "curves.calls": { load: () => import("./calls.ts") },
  "curves.journal": { load: () => import("./journal.ts") },
  "curves.output": { load: () => import("./output.ts") },
  "curves.progress": { load: () => import("./progress.ts") },
  "curves.registry": { load: () => import("./registry.ts") },
  "curves.start": { load: () => import("./start.ts") }
}
