import type { StoredTool } from '../core/stored-tool.ts'
import type { Tool } from './tool.ts'

/** Runs tools that people bring as source, in the sandbox of the conversation that calls them. */
export type ToolSources = { toTool(stored: StoredTool): Tool }
