import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openWorkspaceHouse, tell } from '../house.ts'
import { killSupervisor } from '../kill-supervisor.ts'
import type { Sabotage } from './sabotage.ts'

/** The next command works: under the same supervisor, and under the one that comes after it. */
export async function trySabotage(context: TestContext, { command }: Sabotage): Promise<void> {
  const house = openWorkspaceHouse(context)
  const workspace = await house.open()
  await tell(workspace, command)
  const fine = async () => assert.equal((await tell(workspace, 'cd /workspace; echo fine')).text, 'fine\n')
  await fine()
  await killSupervisor(join(house.folder, workspace.conversationId))
  await fine()
  assert.equal((await workspace.files.write('file', 'text')).type, 'done')
}
