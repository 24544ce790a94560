import assert from 'node:assert/strict'
import { test } from 'node:test'
import { history, isSystemPrompt, sendIn, typesIn, type WireValue } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { DICE, hello } from './sample-messages.ts'

/** Records: runs, steps, messages and their tokens. */
export function records({ server, newAgent }: BehaviorFixture): void {
  test('a run has its steps, tokens and messages (client 37)', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    const usage = { input: 100, output: 7, cached: 30 }
    simulator.script({ when: { attempt: 1 }, answer: { ...DICE, usage } }, { answer: { text: 'Done.' } })
    const { runId, messages } = await sendIn('blocking', client, { agentId, body: hello() })
    const steps = (await client.runs.steps.list(runId)).getPaginatedItems()
    assert.equal(steps.length, 2)
    const [first] = (await client.runs.steps.list(runId, { order: 'asc' })).getPaginatedItems()
    assert.equal(first?.cached_input_tokens, 30)
    for (const step of steps)
      assert.ok('cache_write_tokens' in step && 'reasoning_tokens' in step && step.total_tokens! > 0)
    const total: WireValue = await client.runs.usage.retrieve(runId)
    assert.ok(total.total_tokens > 107 && total.prompt_tokens > 0 && total.completion_tokens > 0)
    assert.equal(total.prompt_tokens_details.cached_tokens, 30)
    const listed = (await client.runs.messages.list(runId)).getPaginatedItems()
    assert.deepEqual(typesIn(listed), ['user_message', ...typesIn(messages)])
    assert.equal((await client.steps.retrieve(steps[0]!.id)).run_id, runId)
    const ofStep = (await client.steps.messages.list(messages[0].step_id)).getPaginatedItems()
    assert.deepEqual(typesIn(ofStep as []), ['tool_call_message', 'tool_return_message'])
    const walked: string[] = []
    for await (const one of client.steps.list({ agent_id: agentId, limit: 1 })) walked.push(one.id)
    assert.deepEqual(
      walked,
      steps.map(({ id }) => id),
    )
    await assert.rejects(client.steps.list({ after: `step-${crypto.randomUUID()}` }), { status: 404 })
  })

  test('lists of runs can be filtered, ordered and paged through to the end', async () => {
    const { client } = server()
    const agentId = await newAgent()
    const sent: string[] = []
    for (let index = 0; index < 5; index++) {
      const mode = index === 3 ? 'background' : 'blocking'
      sent.push((await sendIn(mode, client, { agentId, body: hello() })).runId)
    }
    const all = async (query: object) => {
      const ids: string[] = []
      for await (const run of client.runs.list({ agent_id: agentId, ...query })) ids.push(run.id)
      return ids
    }
    assert.deepEqual(await all({ limit: 2 }), sent.toReversed())
    assert.deepEqual(await all({ limit: 2, order: 'asc' }), sent)
    assert.deepEqual(await all({ agent_ids: [agentId], background: true }), [sent[3]])
    const newer = await client.runs.list({ agent_id: agentId, before: sent[1]!, limit: 2 })
    assert.deepEqual(
      newer.getPaginatedItems().map(({ id }) => id),
      [sent[3], sent[2]],
    )
    assert.deepEqual(await all({ statuses: ['failed', 'cancelled'] }), [])
    assert.deepEqual(await all({ active: true }), [])
    await assert.rejects(all({ after: `run-${crypto.randomUUID()}` }), { status: 404 })
  })

  test('history is chronological from either end, and pages neither repeat nor skip messages', async () => {
    const { client } = server()
    const agentId = await newAgent()
    for (const text of ['one', 'two', 'three']) await client.agents.messages.create(agentId, { input: text })
    const whole = await history(client, agentId, { order: 'asc' })
    assert.equal(whole.length, 6)
    assert.deepEqual(await history(client, agentId), whole)
    assert.deepEqual(await history(client, agentId, { limit: 2 }), whole.slice(4))
    assert.deepEqual(await history(client, agentId, { limit: 2, before: whole[4].id }), whole.slice(2, 4))
    const walked: WireValue[] = []
    for await (const message of client.agents.messages.list(agentId, { limit: 2, order: 'asc' }))
      if (!isSystemPrompt(message)) walked.push(message)
    assert.deepEqual(walked, whole)
    assert.deepEqual(await client.messages.retrieve(whole[1].id), [whole[1]])
    await assert.rejects(history(client, agentId, { after: `message-${crypto.randomUUID()}` }), { status: 404 })
  })

  test('conversations are compacted and reset on demand', async () => {
    const { client, simulator } = server()
    const agentId = await newAgent()
    await assert.rejects(client.agents.messages.compact(agentId), { status: 400 })
    for (const text of ['one', 'two', 'three']) await client.agents.messages.create(agentId, { input: text })
    simulator.script({ answer: { text: 'They counted to three.' } })
    const made = await client.agents.messages.compact(agentId, { compaction_settings: { mode: 'all' } })
    assert.equal(made.num_messages_after, 2)
    assert.ok(made.num_messages_before > made.num_messages_after)
    assert.match(made.summary, /They counted to three/)
    const [compacting]: WireValue[] = (
      await client.runs.list({ agent_id: agentId, limit: 1 } as never)
    ).getPaginatedItems()
    const used = await client.runs.usage.retrieve(compacting.id)
    assert.ok(used.prompt_tokens! > 0 && used.completion_tokens! > 0, 'the summary was paid for')
    assert.equal(await client.agents.messages.reset(agentId, { add_default_initial_messages: false }), null)
    await client.agents.messages.create(agentId, { input: 'fresh' })
    assert.ok(!JSON.stringify(simulator.requests.at(-1)?.body).includes('counted to three'))
  })
}
