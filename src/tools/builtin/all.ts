import type { Tool } from '../../ports/tool.ts'
import type { BuiltinToolDeps } from './builtin-tool-deps.ts'
import { currentTime } from './clock.ts'
import { slowCount } from './counter.ts'
import { rollDice } from './dice.ts'
import { notebook } from './notebook.ts'
import { sendPostcard } from './postcard.ts'

/** Demo tools that cover every kind of behavior: parallel, slow, guarded, idempotent, verifiable. */
export const builtinTools = (deps: BuiltinToolDeps): Tool[] => [
  currentTime(deps),
  ...notebook(deps),
  slowCount(deps),
  rollDice(deps),
  sendPostcard(deps),
]
