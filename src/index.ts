/**
 * The core, one namespace per module.
 *
 * For readers outside of the package. Loading this module loads all of the core; `toolstream/ToolStream` and the
 * like load one module and what it stands on.
 *
 * @since 0.1.0
 */
export * as BoundedText from "./BoundedText.ts"
export * as Clocks from "./Clocks.ts"
export * as CommandTask from "./CommandTask.ts"
export * as ErasedTool from "./ErasedTool.ts"
export * as ForeignText from "./ForeignText.ts"
export * as ForeignTool from "./ForeignTool.ts"
export * as ImageHeader from "./ImageHeader.ts"
export * as Journal from "./Journal.ts"
export * as JsonSchemaValidator from "./JsonSchemaValidator.ts"
export * as Lookalikes from "./Lookalikes.ts"
export * as OutputLines from "./OutputLines.ts"
export * as OutputPart from "./OutputPart.ts"
export * as OutputSearch from "./OutputSearch.ts"
export * as OutwardName from "./OutwardName.ts"
export * as Patterns from "./Patterns.ts"
export * as PlainText from "./PlainText.ts"
export * as Processes from "./Processes.ts"
export * as SchemaTree from "./SchemaTree.ts"
export * as Search from "./Search.ts"
export * as Session from "./Session.ts"
export * as Similarity from "./Similarity.ts"
export * as Spill from "./Spill.ts"
export * as SpillQuota from "./SpillQuota.ts"
export * as Tasks from "./Tasks.ts"
export * as TerminalText from "./TerminalText.ts"
export * as Tool from "./Tool.ts"
export * as ToolCall from "./ToolCall.ts"
export * as ToolContent from "./ToolContent.ts"
export * as ToolError from "./ToolError.ts"
export * as ToolEvent from "./ToolEvent.ts"
export * as ToolMiddleware from "./ToolMiddleware.ts"
export * as ToolRegistry from "./ToolRegistry.ts"
export * as ToolResult from "./ToolResult.ts"
export * as ToolRuntime from "./ToolRuntime.ts"
export * as ToolStream from "./ToolStream.ts"
export * as WorkspaceFiles from "./WorkspaceFiles.ts"
