import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { ToolOutcome } from '../../src/core/tool-call.ts'
import type { Store } from '../../src/ports/store.ts'
import { setApproval } from '../../src/service/agents/agent-tools.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { createConversation } from '../../src/service/conversations/conversations.ts'
import { promptOf, recompilePrompt } from '../../src/service/conversations/prompt.ts'
import { updateBlock } from '../../src/service/memory/blocks.ts'
import { insertPassage } from '../../src/service/memory/passages.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { type MemoryFixture, openMemoryFixture } from '../harness/fixture-memory.ts'
import { calls, queueModel, says } from '../harness/queue-model.ts'

const edit = (tool: string, input: object) => calls(tool, JSON.stringify(input))

async function outcomes(fixture: MemoryFixture): Promise<ToolOutcome[]> {
  return (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
}

const modelOptions = (answers: Parameters<typeof queueModel>[0]) => {
  const model = queueModel(answers)
  return { model, options: { providers: () => ({ test: model }) } }
}

test('memory tools edit blocks, and the system prompt stays the same to the byte', async (context) => {
  const { model, options } = modelOptions([
    edit('memory_insert', { label: 'human', new_string: 'Likes boats.' }),
    edit('memory_replace', { label: 'human', old_string: 'Likes', new_string: 'Loves' }),
    edit('memory_rethink', { label: 'persona', new_memory: 'Short.' }),
    says('Done.'),
  ])
  const fixture = await openMemoryFixture(context, options)
  await fixture.remember({ label: 'human', value: 'Name: Ada.' })
  await fixture.remember({ label: 'persona', value: 'I am long.' })
  assert.equal((await fixture.ask('remember')).stopReason, 'end_turn')
  assert.equal((await fixture.block('human')).value, 'Name: Ada.\nLoves boats.')
  assert.equal((await fixture.block('persona')).value, 'Short.')
  await fixture.ask('again')
  const systems = new Set(model.requests.map(({ system }) => system))
  assert.equal(systems.size, 1)
  assert.match([...systems][0]!, /<human>[\s\S]*Name: Ada\.\n<\/value>/)
  assert.match([...systems][0]!, new RegExp(`AGENT_ID: ${fixture.agent.id}\n- CONVERSATION_ID: default`))

  const preview = await recompilePrompt({ conversationId: fixture.conversationId, dryRun: true }, fixture.context)
  assert.match(preview, /Loves boats/)
  assert.equal(await promptOf(fixture.conversationId, fixture.context), [...systems][0])
  const other = await createConversation(fixture.agent, fixture.context)
  assert.match(
    await promptOf(other.id, fixture.context),
    new RegExp(`Loves boats[\\s\\S]*CONVERSATION_ID: ${other.id}`),
  )
  await fixture.wait(
    await changeContext(
      { agent: fixture.agent, conversationId: fixture.conversationId, task: 'reset' },
      fixture.context,
    ),
  )
  await fixture.ask('after the reset')
  assert.match(model.requests.at(-1)!.system, /Loves boats/)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('edits of a read-only, full or missing block and of an ambiguous text are refused with the reason', async (context) => {
  const { options } = modelOptions([
    edit('memory_insert', { label: 'locked', new_string: 'x' }),
    edit('memory_insert', { label: 'small', new_string: 'too much for it' }),
    edit('memory_insert', { label: 'nowhere', new_string: 'x' }),
    edit('memory_replace', { label: 'small', old_string: 'a', new_string: 'b' }),
    edit('memory_insert', { label: 'small', new_string: 'x', insert_line: 9 }),
    says('Sorry.'),
  ])
  const fixture = await openMemoryFixture(context, options)
  await fixture.remember({ label: 'locked', value: 'v', readOnly: true })
  await fixture.remember({ label: 'small', value: 'a a', limit: 10 })
  await fixture.ask('edit')
  const results = await outcomes(fixture)
  assert.deepEqual(
    results.map(({ status }) => status),
    ['error', 'error', 'error', 'error', 'error'],
  )
  const words = [/read-only/, /Exceeds 10 character limit/, /Blocks: locked, small/, /occurs 2 times/, /insert_line/]
  for (const [index, word] of words.entries()) assert.match(results[index]!.output, word)
  assert.deepEqual([(await fixture.block('locked')).value, (await fixture.block('small')).value], ['v', 'a a'])
})

test('an edit based on a stale version is an error for the model and overwrites nothing', async (context) => {
  const { options } = modelOptions([
    edit('memory_insert', { label: 'human', new_string: 'from the model' }),
    edit('memory_insert', { label: 'human', new_string: 'from the model' }),
    says('Done.'),
  ])
  let isOvertaken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    events: {
      ...store.events,
      async append(append) {
        const writes = append.facts.some(({ event }) => event.type === 'tool-ended' && event.writes)
        if (writes && !isOvertaken) {
          isOvertaken = true
          await updateBlock((await fixture.block('human')).id, { value: 'from a person' }, fixture.context)
        }
        return store.events.append(append)
      },
    },
  })
  const fixture = await openMemoryFixture(context, { ...options, wrapStore })
  await fixture.remember({ label: 'human', value: 'before' })
  const run = await fixture.ask('remember')
  assert.equal(run.stopReason, 'end_turn')
  assert.equal((await fixture.block('human')).value, 'from a person\nfrom the model')
  const [first, second] = await outcomes(fixture)
  assert.match(first!.output, /Nothing was changed: another call or person changed the same thing/)
  assert.deepEqual([first!.status, second!.status], ['error', 'success'])
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
  assert.deepEqual(fixture.faults, [])
})

for (const moment of ['before', 'after'] as const)
  test(`after a death ${moment} the commit of a memory tool the block is edited exactly once`, async (context) => {
    const { options } = modelOptions([
      edit('memory_insert', { label: 'human', new_string: 'once' }),
      edit('archival_memory_insert', { content: 'put away once' }),
      says('Done.'),
    ])
    let deaths = 0
    const { promise: death, resolve: died } = Promise.withResolvers<void>()
    const wrapStore = (store: Store): Store => ({
      ...store,
      events: {
        ...store.events,
        async append(append) {
          const writes = append.facts.some(({ event }) => event.type === 'tool-ended' && event.writes)
          if (!writes || deaths > 0) return store.events.append(append)
          deaths++
          const answer = moment === 'after' ? await store.events.append(append) : undefined
          void fixture.crash().then(died)
          return answer ?? new Promise(() => {})
        },
      },
    })
    const fixture = await openMemoryFixture(context, { ...options, wrapStore })
    await fixture.remember({ label: 'human', value: 'first' })
    const runId = await fixture.send('remember')
    await death
    await fixture.restart()
    assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
    const { value, version } = await fixture.block('human')
    assert.deepEqual({ value, version }, { value: 'first\nonce', version: 2 })
    const { passages } = fixture.context.deps.store
    const found = await passages.search(DEFAULT_ORGANIZATION, fixture.agent.id, { text: 'away', limit: 5 })
    assert.equal(found.length, 1)
    assert.deepEqual(
      (await outcomes(fixture)).map(({ status }) => status),
      ['success', 'success'],
    )
    assert.deepEqual((await checkStore(fixture.context)).violations, [])
  })

test('archival passages and messages are found by their words', async (context) => {
  const { options } = modelOptions([
    edit('archival_memory_search', { query: 'harbor', tags: ['trip'], top_k: 1 }),
    edit('conversation_search', { query: 'lighthouse', roles: ['user'] }),
    edit('archival_memory_search', { query: 'x', start_datetime: 'yesterday-ish' }),
    says('Found.'),
  ])
  const fixture = await openMemoryFixture(context, options)
  await insertPassage({ agent: fixture.agent, text: 'The harbor of Bergen', tags: ['trip'] }, fixture.context)
  await insertPassage({ agent: fixture.agent, text: 'A harbor elsewhere' }, fixture.context)
  await fixture.ask('Tell me about the lighthouse')
  const [archive, recall, unreadable] = await outcomes(fixture)
  assert.match(archive!.output, /The harbor of Bergen/)
  assert.doesNotMatch(archive!.output, /elsewhere/)
  assert.match(recall!.output, /Tell me about the lighthouse/)
  assert.match(unreadable!.output, /ISO 8601/)
})

test('an agent without memory has its instructions alone as prompt', async (context) => {
  const { model, options } = modelOptions([says('Hello.')])
  const fixture = await openMemoryFixture(context, options)
  await fixture.ask('hello')
  assert.equal(model.requests[0]!.system, fixture.agent.system)
})

test('an agent can require approval for a tool that does not need it by default, and undo that', async (context) => {
  const insert = edit('memory_insert', { label: 'human', new_string: 'x' })
  const { options } = modelOptions([insert, insert, says('Done.')])
  const fixture = await openMemoryFixture(context, options)
  await fixture.remember({ label: 'human', value: 'v' })
  await setApproval({ agent: fixture.agent, tool: 'memory_insert', isRequired: true }, fixture.context)
  const waiting = await fixture.ask('edit')
  assert.equal(waiting.stopReason, 'requires_approval')
  assert.equal((await fixture.block('human')).value, 'v')
  await cancelRun(waiting.id, fixture.context)
  await setApproval({ agent: fixture.agent, tool: 'memory_insert', isRequired: false }, fixture.context)
  assert.equal((await fixture.ask('edit')).stopReason, 'end_turn')
  assert.equal((await fixture.block('human')).value, 'v\nx')
})
