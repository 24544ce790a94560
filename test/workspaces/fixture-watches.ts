import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkspaceApp } from './fixture-workspace-app.ts'
import { until } from './fixture-workspaces.ts'

export const WAITING = 'until [ -e go ]; do sleep 0.05; done; echo the end; exit 3'

/** Starts a background command that wakes its conversation when it ends. */
export const startWatched = (fixture: WorkspaceApp, more: object = {}) =>
  fixture.call({ tool: 'shell', input: { command: WAITING, background: true, notify: true, ...more } })

export const watchFiles = ({ home, conversationId }: WorkspaceApp): string[] => {
  const folder = join(home, 'workspaces', conversationId, 'awaited')
  return existsSync(folder) ? readdirSync(folder) : []
}

/** Waits until every watch is gone and every turn has ended. */
export const waitForWakeUps = async (fixture: WorkspaceApp) => {
  await until(() => watchFiles(fixture).length === 0)
  const runs = await fixture.runs()
  await Promise.all(runs.map(({ id }) => fixture.wait(id)))
  return { runs: runs.length, news: await fixture.news() }
}
