import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openWorkspaceHouse, tell, until } from '../house.ts'
import type { Sabotage } from './sabotage.ts'

/** The next command works: under the same supervisor, and under the one that comes after it. */
export async function trySabotage(context: TestContext, { command }: Sabotage): Promise<void> {
  const house = openWorkspaceHouse(context)
  const workspace = await house.open()
  await tell(workspace, command)
  const fine = async () => assert.equal((await tell(workspace, 'cd /workspace; echo fine')).text, 'fine\n')
  await fine()
  const keeper = join(house.folder, workspace.conversationId, 'supervisor.json')
  const { pid } = JSON.parse(readFileSync(keeper, 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  await until(() => !isRunning(pid))
  await fine()
  assert.equal((await workspace.files.write('file', 'text')).type, 'done')
}

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
