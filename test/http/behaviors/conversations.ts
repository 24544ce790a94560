import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSystemPrompt, readStream, typesIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { approvalMessage, approveCall, hello, NEVER, POSTCARD } from './sample-messages.ts'

const idsIn = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id)

/** Several conversations of one agent. */
export function conversations({ server, newAgent }: BehaviorFixture): void {
  const client = () => server().client
  const say = async (conversationId: string, text: string, more: object = {}) =>
    readStream(await client().conversations.messages.create(conversationId, { input: text, ...more } as never))
  const messagesOf = async (conversationId: string, query: object = {}): Promise<WireValue[]> =>
    (await client().conversations.messages.list(conversationId, query as never)).getPaginatedItems()
  const systemOf = (request: WireValue): string =>
    request.body.messages.find(({ role }: WireValue) => role === 'system' || role === 'developer').content

  test('conversations are created, read, listed by last message, updated, and gone after deletion (client 25)', async () => {
    const agent_id = await newAgent()
    const one = await client().conversations.create({ agent_id, summary: 'About whales' })
    const two = await client().conversations.create({ agent_id })
    assert.equal((await client().conversations.retrieve(one.id)).summary, 'About whales')
    await say(two.id, 'Hello')
    await say(one.id, 'Hello')
    const listed = await client().conversations.list({ agent_id, order_by: 'last_message_at' })
    assert.deepEqual(idsIn(listed).slice(0, 2), [one.id, two.id])
    assert.equal((await client().conversations.update(one.id, { summary: 'About tea' })).summary, 'About tea')
    await client().conversations.delete(one.id)
    await assert.rejects(client().conversations.retrieve(one.id), { status: 404 })
    await assert.rejects(client().conversations.update(one.id, { summary: 'x' }), { status: 404 })
    await assert.rejects(client().conversations.delete(one.id), { status: 404 })
    assert.ok(!idsIn(await client().conversations.list({ agent_id })).includes(one.id))
  })

  test('the first message of a conversation is a system message that names the agent and the conversation (client 26)', async () => {
    const agent_id = await newAgent()
    const { id } = await client().conversations.create({ agent_id })
    await say(id, 'Hello')
    const [first] = await messagesOf(id, { order: 'asc' })
    assert.equal(first.message_type, 'system_message')
    assert.match(first.content, new RegExp(`AGENT_ID: ${agent_id}`))
    assert.match(first.content, new RegExp(`CONVERSATION_ID: ${id}`))
    await client().agents.messages.create(agent_id, { input: 'Hello' })
    const [own] = (await client().agents.messages.list(agent_id, { order: 'asc' })).getPaginatedItems() as WireValue[]
    assert.equal(own.message_type, 'system_message')
    assert.match(own.content, /CONVERSATION_ID: default/)
  })

  test('conversations are isolated from each other; a fork starts with the same messages and then diverges (client 27)', async () => {
    const { simulator } = server()
    const agent_id = await newAgent()
    const one = await client().conversations.create({ agent_id })
    const two = await client().conversations.create({ agent_id })
    await say(one.id, 'The harbor')
    await say(two.id, 'The mountain')
    assert.ok(!JSON.stringify(simulator.requests.at(-1)?.body).includes('harbor'))
    assert.equal((await messagesOf(two.id)).filter(({ content }) => /harbor/.test(content)).length, 0)

    const fork = await client().conversations.fork(one.id)
    const original = await messagesOf(one.id, { order: 'asc' })
    const forked = await messagesOf(fork.id, { order: 'asc' })
    assert.deepEqual(idsIn(forked.slice(1)), idsIn(original.slice(1)))
    assert.notEqual(forked[0].id, original[0].id)
    await say(fork.id, 'Only here')
    assert.ok(JSON.stringify(simulator.requests.at(-1)?.body).includes('The harbor'))
    assert.equal((await messagesOf(one.id)).length, original.length)

    await client().agents.messages.create(agent_id, { input: 'Said by default' })
    const ofDefault = await client().conversations.fork('default', { agent_id } as never)
    assert.ok((await messagesOf(ofDefault.id)).some(({ content }) => content === 'Said by default'))
    await assert.rejects(client().conversations.fork(`conv-${crypto.randomUUID()}`), { status: 404 })
    await assert.rejects(client().conversations.fork('nonsense'), { status: 422 })
  })

  test('messages of a conversation can be paged in both orders and from both ends without repetition (client 28)', async () => {
    const agent_id = await newAgent()
    const { id } = await client().conversations.create({ agent_id })
    for (const text of ['one', 'two', 'three']) await say(id, text)
    const whole = await messagesOf(id, { order: 'asc' })
    assert.equal(whole.length, 7)
    assert.deepEqual(await messagesOf(id), whole.toReversed())
    assert.deepEqual(await messagesOf(id, { order: 'asc', limit: 3 }), whole.slice(0, 3))
    assert.deepEqual(await messagesOf(id, { order: 'asc', after: whole[4].id }), whole.slice(5))
    for (const order of ['asc', 'desc'] as const) {
      const walked: WireValue[] = []
      for await (const message of client().conversations.messages.list(id, { limit: 2, order })) walked.push(message)
      assert.deepEqual(idsIn(walked), idsIn(order === 'asc' ? whole : whole.toReversed()), order)
    }
    await assert.rejects(
      async () => readStream(await client().conversations.messages.stream(id)),
      (fault: WireValue) => {
        assert.equal(fault.status, 400)
        assert.match(JSON.stringify(fault.error), /No active runs found/)
        return true
      },
    )
  })

  test('a busy conversation refuses another message with 409; a repeat with the same otid attaches to the same run (client 29)', async () => {
    const { simulator } = server()
    const agent_id = await newAgent()
    const { id } = await client().conversations.create({ agent_id })
    simulator.script({ answer: NEVER })
    const otid = crypto.randomUUID()
    const body = { ...hello(otid), background: true, streaming: true }
    const send = async (more: object) =>
      (await client().conversations.messages.create(id, { ...body, ...more } as never)) as AsyncIterable<WireValue>
    const runIn = async (stream: AsyncIterable<WireValue>) => {
      for await (const { run_id } of stream) return run_id as string
      throw new Error('the stream said nothing')
    }
    const runId = await runIn(await send({}))
    await simulator.waitForRequests(1)
    await assert.rejects(send(hello(crypto.randomUUID())), (fault: WireValue) => {
      assert.equal(fault.status, 409)
      assert.match(JSON.stringify(fault.error), /another request .*is currently being processed/i)
      assert.equal(fault.error.run_id, runId)
      assert.equal(fault.headers.get('x-should-retry'), 'false')
      return true
    })
    assert.equal(await runIn(await send({})), runId, 'the same otid is the same run')
    const byOtid = readStream(await client().conversations.messages.stream(id, { otid } as never))
    await client().conversations.cancel(id)
    assert.equal((await byOtid).stopReason, 'cancelled')
    assert.equal((await waitUntilSettled(client(), runId)).status, 'cancelled')
    assert.equal(await runIn(await send({})), runId, 'also after its end')

    simulator.script()
    assert.equal((await say(id, 'Free again')).stopReason, 'end_turn')
    simulator.script({ answer: { error: 'invalid-request' } })
    await assert.rejects(say(id, 'This fails'))
    simulator.script()
    assert.equal((await say(id, 'Free after an error')).stopReason, 'end_turn')
  })

  test('of two simultaneous sends to a conversation one succeeds and one gets 409 (client 29)', async () => {
    const { simulator } = server()
    const agent_id = await newAgent()
    const { id } = await client().conversations.create({ agent_id })
    simulator.script({ answer: { text: 'In a moment.', pace: { beforeHeadersMs: 200 } } })
    const both = await Promise.allSettled([say(id, 'one'), say(id, 'two')])
    const refused = both.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    assert.deepEqual(
      refused.map(({ reason }) => reason.status),
      [409],
    )
    assert.equal(simulator.requests.length, 1)
  })

  test('`default` with an agent, and the id of an agent, mean the default conversation (client 30)', async () => {
    const { simulator } = server()
    const agent_id = await newAgent({ memory_blocks: [{ label: 'human', value: 'Bo' }] })
    for (const [name, more] of [
      ['default', { agent_id }],
      [agent_id, {}],
    ] as const) {
      const sent = await say(name, 'Hello', more)
      assert.equal(sent.stopReason, 'end_turn')
      const listed = await messagesOf(name, more)
      assert.ok(listed.some(({ id }) => id === sent.messages[0].id))
      assert.ok(listed.every((message) => !message.conversation_id))
      assert.match(await client().conversations.recompile(name, more as never), /<human>/)
      const again = await readStream(
        await client().conversations.messages.stream(name, { ...more, run_id: sent.runId } as never),
      )
      assert.deepEqual(typesIn(again.messages), typesIn(sent.messages))
      await assert.rejects(client().conversations.cancel(name, more as never), { status: 409 })
      simulator.script({ answer: { text: 'They said hello.' } })
      const compaction_settings = { mode: 'all' }
      const made = await client().conversations.messages.compact(name, { ...more, compaction_settings } as never)
      assert.equal(made.num_messages_after, 2)
      simulator.script()
    }
    await assert.rejects(messagesOf('default'), (fault: WireValue) => [404, 422].includes(fault.status))
  })

  test('recompiling a conversation returns and stores its new prompt; a dry run or a block edit stores nothing (client 31)', async () => {
    const agent_id = await newAgent({ memory_blocks: [{ label: 'human', value: 'Name: Bo.' }] })
    const { id } = await client().conversations.create({ agent_id })
    const first = async () => (await messagesOf(id, { order: 'asc' }))[0].content as string
    assert.match(await first(), /Name: Bo\./)
    await client().agents.blocks.update('human', { agent_id, value: 'Name: Cy.' })
    assert.match(await first(), /Name: Bo\./)
    assert.match(await client().conversations.recompile(id, { dry_run: true }), /Name: Cy\./)
    assert.match(await first(), /Name: Bo\./)
    assert.match(await client().conversations.recompile(id), /Name: Cy\./)
    assert.match(await first(), /Name: Cy\./)
  })

  test('compacting a conversation leaves others alone, and a conversation created after a block edit has the new memory (client 32)', async () => {
    const { simulator } = server()
    const agent_id = await newAgent({ memory_blocks: [{ label: 'human', value: 'Name: Bo.' }] })
    const { id } = await client().conversations.create({ agent_id })
    const other = await client().conversations.create({ agent_id })
    await assert.rejects(client().conversations.messages.compact(id), { status: 400 })
    for (const text of ['one', 'two', 'three']) await say(id, text)
    await say(other.id, 'untouched')
    simulator.script({ answer: { text: 'They counted to three.' } })
    const made = await client().conversations.messages.compact(id, { compaction_settings: { mode: 'all' } })
    assert.match(made.summary, /They counted to three/)
    assert.ok(made.num_messages_after < made.num_messages_before)
    simulator.script()
    await say(id, 'four')
    assert.ok(JSON.stringify(simulator.requests.at(-1)?.body).includes('They counted to three'))
    await say(other.id, 'still')
    assert.ok(!JSON.stringify(simulator.requests.at(-1)?.body).includes('They counted to three'))
    await client().agents.blocks.update('human', { agent_id, value: 'Name: Cy.' })
    const later = await client().conversations.create({ agent_id })
    await say(later.id, 'Hello')
    assert.match(systemOf(simulator.requests.at(-1)), /Name: Cy\./)
  })

  test('a system prompt and skills for one request reach the model in that request only (client 33)', async () => {
    const { simulator } = server()
    const agent_id = await newAgent({ memory_blocks: [{ label: 'human', value: 'Name: Bo.' }] })
    const { id } = await client().conversations.create({ agent_id })
    await say(id, 'Hello', { override_system: 'Speak like a whale.' })
    assert.match(systemOf(simulator.requests.at(-1)), /Speak like a whale\./)
    await say(id, 'Hello')
    assert.doesNotMatch(systemOf(simulator.requests.at(-1)), /whale/)
    const client_skills = [{ name: 'knots', description: 'How to tie knots', location: '/skills/knots' }]
    await say(id, 'Hello', { client_skills })
    const system = systemOf(simulator.requests.at(-1))
    assert.ok(system.includes('knots') && system.includes('How to tie knots') && system.includes('/skills/knots'))
    await say(id, 'Hello')
    assert.doesNotMatch(systemOf(simulator.requests.at(-1)), /knots/)
    const kept = await messagesOf(id, { order: 'asc' })
    assert.equal(kept.filter(isSystemPrompt).length, 1)
    assert.doesNotMatch(kept[0].content, /whale|knots/)
  })

  test('cancelling a conversation denies its pending calls, and it accepts messages again', async () => {
    const { simulator } = server()
    const agent_id = await newAgent()
    const { id } = await client().conversations.create({ agent_id })
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Fine.' } })
    const waiting = await say(id, 'Send it')
    assert.equal(waiting.stopReason, 'requires_approval')
    const shown: WireValue = await client().conversations.retrieve(id)
    assert.ok(shown.in_context_message_ids.includes(waiting.messages[0].id))
    assert.deepEqual(await client().conversations.cancel(id), { [waiting.runId]: 'cancelled' })
    const types = typesIn(await messagesOf(id, { order: 'asc' }))
    assert.deepEqual(types.slice(-2), ['approval_response_message', 'tool_return_message'])
    assert.equal((await say(id, 'And now?')).stopReason, 'end_turn')
  })

  test('an approval is answered in the conversation that asked for it', async () => {
    const { simulator } = server()
    const agent_id = await newAgent()
    const { id } = await client().conversations.create({ agent_id })
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Sent.' } })
    await say(id, 'Send it')
    const body = approvalMessage(approveCall('call-card'))
    const reply = await readStream(await client().conversations.messages.create(id, body as never))
    assert.deepEqual(typesIn(reply.messages), ['tool_return_message', 'assistant_message'])
  })
}
