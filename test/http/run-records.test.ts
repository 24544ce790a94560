import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Failure } from '../../src/core/failure.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture, statusOf } from './fixture-resource-server.ts'
import type { WireValue } from './send-modes.ts'

const failed: Failure = {
  kind: 'server-error',
  detail: 'The model is having a moment.',
  status: 500,
  code: 'overloaded',
  requestId: 'req-1',
  mayHaveBeenAccepted: true,
}

test('the attempts, remedies, tokens and event log of a run can be read over HTTP', async (t) => {
  const script = scriptOf({ fail: failed }, { text: 'Better.', usage: { promptTokens: 7, completionTokens: 2 } })
  const { fixture, fetch } = await serveFixture(t, { script })
  const { id } = await fixture.ask('hello')
  const attempts: WireValue[] = (await fetch('GET', `/v1/runs/${id}/attempts`)).body
  const [first, second] = attempts
  assert.equal(attempts.length, 2)
  assert.deepEqual([first.target, first.outcome, first.failure.kind], ['test/model', 'failed', 'server-error'])
  const { http_status, code, request_id, may_have_cost, remedy } = first.failure
  assert.deepEqual([http_status, code, request_id, may_have_cost, remedy], [500, 'overloaded', 'req-1', true, 'wait'])
  assert.deepEqual([second.outcome, second.prompt_tokens, second.completion_tokens], ['answered', 7, 2])
  const log: WireValue[] = (await fetch('GET', `/v1/runs/${id}/events`)).body
  assert.deepEqual(
    log.map(({ event }) => event),
    await fixture.events(id),
  )
})

test('a step has its duration and stores feedback', async (t) => {
  const script = scriptOf({ calls: [{ tool: 'hold', input: {} }] }, { text: 'Done.' })
  const { fixture, client } = await serveFixture(t, { script, tools: [tool('hold', async () => success('held'))] })
  const { id: runId } = await fixture.ask('go')
  const steps: WireValue[] = []
  for await (const step of client.runs.steps.list(runId, { order: 'asc' })) steps.push(step)
  const [first, last] = steps
  const times = await client.steps.metrics.retrieve(first.id)
  assert.equal(times.id, first.id)
  assert.ok(times.step_start_ns! > 1e18 && times.llm_request_ns! >= 0)
  assert.ok(times.tool_execution_ns! >= 0 && times.step_ns! >= times.llm_request_ns! + times.tool_execution_ns!)
  assert.equal((await client.steps.metrics.retrieve(last.id)).tool_execution_ns, null)
  assert.equal(await client.steps.trace.retrieve(first.id), null)

  const rated = await client.steps.feedback.create(first.id, { feedback: 'positive', tags: ['kind'] })
  assert.deepEqual([rated.feedback, rated.tags], ['positive', ['kind']])
  assert.equal((await client.steps.retrieve(first.id)).feedback, 'positive')
  assert.equal((await client.steps.feedback.create(first.id, { feedback: null })).feedback, null)
  assert.equal(await statusOf(client.steps.feedback.create(first.id, { feedback: 'perhaps' as never })), 422)
  assert.equal(await statusOf(client.steps.feedback.create(`step-${crypto.randomUUID()}`, {})), 404)
})
