import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkStore } from '../../src/service/store/check-store.ts'
import { agentId, conversationId } from '../harness/old-server/old-world.ts'
import { oldServerFor, openImportHome, tallyOf } from './fixture-import.ts'

for (const version of ['0.8.0', '0.12.0', '0.16.8'] as const)
  test(`a whole server of version ${version} is imported, and a repeat changes nothing`, async (context) => {
    const old = await oldServerFor(context, { version })
    const home = await openImportHome(context)
    const report = await home.importFrom(old.url)
    assert.equal(report.record.failure, undefined)
    assert.equal(report.record.state, 'done')
    assert.equal(report.record.progress.version, version)
    assert.ok(report.complete)
    const conversations = version === '0.16.8' ? 6 : 3
    assert.equal(tallyOf(report, 'agent')?.imported, 3)
    assert.equal(tallyOf(report, 'block')?.imported, 4)
    assert.equal(tallyOf(report, 'conversation')?.imported, conversations)
    // Each system prompt is compiled here.
    assert.equal(tallyOf(report, 'message')?.imported, conversations * 44)
    assert.equal(tallyOf(report, 'message')?.leftOut, conversations)
    assert.equal(tallyOf(report, 'passage')?.imported, 15)
    const agent = await home.app.context.deps.store.agents.get(home.app.context.organizationId, agentId(0) as never)
    assert.equal(agent?.name, 'agent-0')
    const again = await home.importFrom(old.url)
    assert.deepEqual(again.tallies, report.tallies)
    assert.deepEqual((await checkStore(home.app.context)).violations, [])
    void conversationId
  })
