import type { Tool } from '../../ports/tool.ts'
import type { BuiltinToolDeps } from './builtin-tool-deps.ts'
import { currentTime } from './clock.ts'

/** Tools without a room of their own; `memory/`, `../workspace/` and `../demo/` hold the others. */
export const builtinTools = (deps: BuiltinToolDeps): Tool[] => [currentTime(deps)]
