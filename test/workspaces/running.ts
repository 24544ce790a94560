import type { RunId } from '../../src/core/id.ts'
import type { ProcessState } from '../../src/ports/workspaces.ts'
import type { WorkspaceApp } from './workspace-app.ts'

export const FOREVER = { tool: 'shell', input: { command: 'echo up; sleep 1000' } }
export const BACKGROUND = { tool: 'shell', input: { command: 'echo up; sleep 1000', background: true } }

export const running = async (house: WorkspaceApp): Promise<ProcessState[]> =>
  (await (await house.workspace()).processes()).filter(({ ending }) => ending === undefined)

export const runningOf = async (house: WorkspaceApp, runId: RunId) =>
  (await running(house)).filter((process) => process.runId === runId)
