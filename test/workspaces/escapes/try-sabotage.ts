import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openWorkspacesFixture, runCommand } from '../fixture-workspaces.ts'
import { killSupervisor } from '../kill-supervisor.ts'
import type { Sabotage } from './sabotage.ts'

/** The next command works, under the same supervisor and under its successor. */
export async function trySabotage(context: TestContext, { command }: Sabotage): Promise<void> {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  await runCommand(workspace, command)
  const fine = async () => assert.equal((await runCommand(workspace, 'cd /workspace; echo fine')).text, 'fine\n')
  await fine()
  await killSupervisor(join(fixture.folder, workspace.conversationId))
  await fine()
  assert.equal((await workspace.files.write('file', 'text')).type, 'done')
}
