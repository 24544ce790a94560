import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './house.ts'
import type { WorkspaceApp } from './workspace-app.ts'

export const WAITING = 'until [ -e go ]; do sleep 0.05; done; echo the end; exit 3'

/** In the background, and the conversation wants to be told. */
export const begun = (house: WorkspaceApp, more: object = {}) =>
  house.call({ tool: 'shell', input: { command: WAITING, background: true, notify: true, ...more } })

export const notes = ({ home, conversationId }: WorkspaceApp): string[] => {
  const folder = join(home, 'workspaces', conversationId, 'awaited')
  return existsSync(folder) ? readdirSync(folder) : []
}

/** When everybody was told, and every turn is over. */
export const settled = async (house: WorkspaceApp) => {
  await until(() => notes(house).length === 0)
  const runs = await house.runs()
  await Promise.all(runs.map(({ id }) => house.wait(id)))
  return { runs: runs.length, news: await house.news() }
}
