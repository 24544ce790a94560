import type { PlantedBug } from './plant.ts'

/** Bugs in how tools from source run. */
export const SOURCE_BUGS: PlantedBug[] = [
  {
    name: 'a tool from source starts under a key of its own',
    file: 'tools/custom/run-program.ts',
    find: 'workspace.startProgram({ ...program, key, runId, title: call.title })',
    replace: 'workspace.startProgram({ ...program, key: key + clock.monotonic(), runId, title: call.title })',
    breaks: 'nothing happens twice: the process of a call is found again',
  },
  {
    name: 'a tool whose sandbox died counts as done',
    file: 'tools/custom/source-answer.ts',
    find: "        status: 'unknown',\n",
    replace: "        status: 'success',\n",
    breaks: 'nothing is hidden: the outcome of a lost call is unknown',
  },
]
