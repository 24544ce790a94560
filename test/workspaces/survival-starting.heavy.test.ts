import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, newConversationId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'

const SERVER = fileURLToPath(new URL('./survival-server.ts', import.meta.url))
const ROUNDS = 12

test('servers killed at any moment of starting a workspace leave one that works, a command that ran once, and nothing stuck', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const house = openWorkspacesFixture(context)
  const tookMs = await timeOfOneStart()
  for (let round = 0; round < ROUNDS; round++) {
    const conversationId = newConversationId()
    const wish = newCommand('echo run >> runs; sleep 1000', { background: true })
    const parameters = [SERVER, house.folder, conversationId, JSON.stringify([wish])]
    await Promise.all(
      [0, 1, 2].map(async (place) => {
        const server = spawn(process.execPath, parameters, { stdio: 'ignore' })
        const gone = new Promise((resolve) => server.once('exit', resolve))
        // Spread over the whole of it: each round and each server at another moment.
        const moment = setTimeout(() => server.kill('SIGKILL'), (tookMs * (round * 3 + place)) / (ROUNDS * 3))
        context.after(() => clearTimeout(moment))
        await gone
      }),
    )
    const workspace = await house.workspaces.open(conversationId)
    const { ending } = await workspace.start(wish)
    const runs = async () => (await runCommand(workspace, 'cat /workspace/runs 2>/dev/null')).text
    if (!ending) await until(async () => (await runs()) !== '')
    assert.ok((await runs()) === 'run\n' || (ending?.type === 'lost' && (await runs()) === ''), await runs())
    await house.workspaces.remove(conversationId)
    await until(() => namesOf(conversationId).length === 0 || undefined)
  }

  async function timeOfOneStart(): Promise<number> {
    const began = performance.now()
    const parameters = [SERVER, house.folder, newConversationId(), JSON.stringify([newCommand('true')])]
    const server = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'ignore'] })
    await new Promise<void>((resolve) =>
      server.stdout.on('data', (piece) => String(piece).includes('ready') && resolve()),
    )
    server.kill('SIGKILL')
    return performance.now() - began
  }
})

/** Whatever still runs that was started for it, inside or outside of its walls. */
function namesOf(conversationId: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(conversationId)
    } catch {
      return false
    }
  })
}
