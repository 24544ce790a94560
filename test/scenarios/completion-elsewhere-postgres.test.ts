import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { requireConversation } from '../../src/service/conversations/conversations.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { startPostgres } from '../harness/postgres.ts'

const postgres = await startPostgres()
const skip = 'skip' in postgres ? postgres.skip : false

async function processOn(context: TestContext, url: string, maxRunning: string) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-elsewhere-'))
  const environment = { HOLDFAST_HOME: home, DATABASE_URL: url, HOLDFAST_MAX_RUNNING_TURNS: maxRunning }
  const app = await openApp({ environment, role: 'owner' })
  context.after(async () => {
    await app.close()
    rmSync(home, { recursive: true, force: true })
  })
  return app.context
}

test('a caller that waits for a run of another process is notified of its end', { skip }, async (context) => {
  assert.ok('url' in postgres)
  const worker = await processOn(context, postgres.url, '8')
  const waiting = await processOn(context, postgres.url, '8')
  context.after(() => postgres.stop())
  const agent = await createAgent({ name: 'ada', model: 'scripted/friendly', tools: ['slow_count'] }, worker)
  const conversationId = (await requireConversation(agent, undefined, worker)).id
  const content = [{ type: 'text' as const, text: 'count to 2' }]
  const { runId } = await sendMessage({ agent, conversationId, content }, worker)
  const patience = AbortSignal.timeout(20_000)
  const run = await waitForRun(runId, waiting, patience)
  assert.equal(run.status, 'completed')
  assert.equal(patience.aborted, false, 'the end was seen only because the wait timed out')
})
