/**
 * For tests of tools, of what runs them and of what reads them; of any test
 * runner.
 *
 * - `LawCheck` checks a tool against the law; it fails with a `LawViolation`.
 * - `JournalCheck` checks a journal against the contract of its port.
 * - `ScriptedTool`, `ScriptedProcess` and `ScriptedSampler` do what data says.
 * - `RecordingReader` and `RecordingJournal` remember what they were told.
 * - `VirtualClock` moves when it is told to, and knows who sleeps.
 *
 * @since 0.1.0
 */
export * as JournalCheck from "./JournalCheck.ts"
export * as LawCheck from "./LawCheck.ts"
export * as LawViolation from "./LawViolation.ts"
export * as RecordingJournal from "./RecordingJournal.ts"
export * as RecordingReader from "./RecordingReader.ts"
export * as ScriptedProcess from "./ScriptedProcess.ts"
export * as ScriptedSampler from "./ScriptedSampler.ts"
export * as ScriptedTool from "./ScriptedTool.ts"
export * as VirtualClock from "./VirtualClock.ts"
