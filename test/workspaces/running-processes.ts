import type { RunId } from '../../src/core/id.ts'
import type { ProcessState } from '../../src/ports/workspaces.ts'
import type { WorkspaceApp } from './fixture-workspace-app.ts'

export const FOREVER = { tool: 'shell', input: { command: 'echo up; sleep 1000' } }
export const BACKGROUND = { tool: 'shell', input: { command: 'echo up; sleep 1000', background: true } }

export const listRunning = async (fixture: WorkspaceApp): Promise<ProcessState[]> =>
  (await (await fixture.workspace()).processes()).filter(({ ending }) => ending === undefined)

export const listRunningOf = async (fixture: WorkspaceApp, runId: RunId) =>
  (await listRunning(fixture)).filter((process) => process.runId === runId)
