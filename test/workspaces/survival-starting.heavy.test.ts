import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, newConversationId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'

const SERVER = fileURLToPath(new URL('./survival-server.ts', import.meta.url))
const ROUNDS = 12

test('servers killed at any moment of a workspace start leave it working, with a command that ran once', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const tookMs = await timeOfOneStart()
  for (let round = 0; round < ROUNDS; round++) {
    const conversationId = newConversationId()
    const request = newCommand('echo run >> runs; sleep 1000', { background: true })
    const parameters = [SERVER, fixture.folder, conversationId, JSON.stringify([request])]
    await Promise.all(
      [0, 1, 2].map(async (place) => {
        const server = spawn(process.execPath, parameters, { stdio: 'ignore' })
        const gone = new Promise((resolve) => server.once('exit', resolve))
        // Spread over the whole start: each round and each server at another moment.
        const moment = setTimeout(() => server.kill('SIGKILL'), (tookMs * (round * 3 + place)) / (ROUNDS * 3))
        context.after(() => clearTimeout(moment))
        await gone
      }),
    )
    const workspace = await fixture.workspaces.open(conversationId)
    const { ending } = await workspace.start(request)
    const runs = async () => (await runCommand(workspace, 'cat /workspace/runs 2>/dev/null')).text
    if (!ending) await until(async () => (await runs()) !== '')
    assert.ok((await runs()) === 'run\n' || (ending?.type === 'lost' && (await runs()) === ''), await runs())
    await fixture.workspaces.remove(conversationId)
    await until(() => namesOf(conversationId).length === 0 || undefined)
  }

  async function timeOfOneStart(): Promise<number> {
    const began = performance.now()
    const parameters = [SERVER, fixture.folder, newConversationId(), JSON.stringify([newCommand('true')])]
    const server = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'ignore'] })
    await new Promise<void>((resolve) =>
      server.stdout.on('data', (piece) => String(piece).includes('ready') && resolve()),
    )
    server.kill('SIGKILL')
    return performance.now() - began
  }
})

/** Processes that still run for the workspace, inside or outside the sandbox. */
function namesOf(conversationId: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(conversationId)
    } catch {
      return false
    }
  })
}
