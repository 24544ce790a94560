import type { StoredTool } from '../../../core/stored-tool.ts'

export const wireTool = (tool: StoredTool) => ({
  ...{ id: tool.id, name: tool.name, description: tool.description, tool_type: tool.toolType },
  ...{ source_type: tool.sourceType, source_code: tool.sourceCode || null, json_schema: tool.jsonSchema },
  ...{ args_json_schema: tool.argsSchema ?? null, tags: tool.tags, return_char_limit: tool.returnCharLimit },
  ...{ default_requires_approval: tool.needsApproval, enable_parallel_execution: tool.parallel },
  ...{ pip_requirements: tool.wire.pip_requirements ?? null, npm_requirements: tool.wire.npm_requirements ?? null },
  metadata_: tool.wire.metadata_ ?? {},
  ...{ project_id: null, created_by_id: null, last_updated_by_id: null },
})
