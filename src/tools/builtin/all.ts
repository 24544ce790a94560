import type { Tool } from '../../ports/tool.ts'
import { currentTime } from './clock.ts'
import { slowCount } from './counter.ts'
import { rollDice } from './dice.ts'
import { notebook } from './notebook.ts'
import { sendPostcard } from './postcard.ts'
import type { World } from './world.ts'

/** Between them they show every way a tool can behave: parallel, slow, guarded, idempotent, verifiable. */
export const builtinTools = (world: World): Tool[] => [
  currentTime(world),
  ...notebook(world),
  slowCount(world),
  rollDice(world),
  sendPostcard(world),
]
