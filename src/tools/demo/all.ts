import type { Tool } from '../../ports/tool.ts'
import type { BuiltinToolDeps } from '../builtin/builtin-tool-deps.ts'
import { slowCount } from './counter.ts'
import { rollDice } from './dice.ts'
import { notebook } from './notebook.ts'
import { sendPostcard } from './postcard.ts'

/** Tools of the scripted model. Together they show every kind of tool: parallel, slow, guarded, idempotent, verifiable. */
export const demoTools = (deps: BuiltinToolDeps): Tool[] => [
  ...notebook(deps),
  slowCount(deps),
  rollDice(deps),
  sendPostcard(deps),
]
