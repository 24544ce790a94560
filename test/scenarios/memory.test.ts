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
import { checkStore } from '../../src/service/store/check-store.ts'
import { type MemoryFixture, openMemoryFixture } from '../harness/fixture-memory.ts'
import { calls, queueModel, says } from '../harness/queue-model.ts'

const edit = (tool: string, input: object) => calls(tool, JSON.stringify(input))

async function outcomes(house: MemoryFixture): Promise<ToolOutcome[]> {
  return (await house.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
}

const modelHouse = (answers: Parameters<typeof queueModel>[0]) => {
  const model = queueModel(answers)
  return { model, options: { providers: () => ({ test: model }) } }
}

test('memory tools edit blocks, and the system prompt stays the same to the byte', async (context) => {
  const { model, options } = modelHouse([
    edit('memory_insert', { label: 'human', new_string: 'Likes boats.' }),
    edit('memory_replace', { label: 'human', old_string: 'Likes', new_string: 'Loves' }),
    edit('memory_rethink', { label: 'persona', new_memory: 'Short.' }),
    says('Done.'),
  ])
  const house = await openMemoryFixture(context, options)
  await house.remember({ label: 'human', value: 'Name: Ada.' })
  await house.remember({ label: 'persona', value: 'I am long.' })
  assert.equal((await house.ask('remember')).stopReason, 'end_turn')
  assert.equal((await house.block('human')).value, 'Name: Ada.\nLoves boats.')
  assert.equal((await house.block('persona')).value, 'Short.')
  await house.ask('again')
  const systems = new Set(model.requests.map(({ system }) => system))
  assert.equal(systems.size, 1)
  assert.match([...systems][0]!, /<human>[\s\S]*Name: Ada\.\n<\/value>/)
  assert.match([...systems][0]!, new RegExp(`AGENT_ID: ${house.agent.id}\n- CONVERSATION_ID: default`))

  const tried = await recompilePrompt({ conversationId: house.conversationId, dryRun: true }, house.context)
  assert.match(tried, /Loves boats/)
  assert.equal(await promptOf(house.conversationId, house.context), [...systems][0])
  const other = await createConversation(house.agent, house.context)
  assert.match(await promptOf(other.id, house.context), new RegExp(`Loves boats[\\s\\S]*CONVERSATION_ID: ${other.id}`))
  await house.wait(
    await changeContext({ agent: house.agent, conversationId: house.conversationId, task: 'reset' }, house.context),
  )
  await house.ask('anew')
  assert.match(model.requests.at(-1)!.system, /Loves boats/)
  assert.deepEqual((await checkStore(house.context)).violations, [])
})

test('edits of a read-only, full or missing block and of an ambiguous text are refused with the reason', async (context) => {
  const { options } = modelHouse([
    edit('memory_insert', { label: 'locked', new_string: 'x' }),
    edit('memory_insert', { label: 'small', new_string: 'too much for it' }),
    edit('memory_insert', { label: 'nowhere', new_string: 'x' }),
    edit('memory_replace', { label: 'small', old_string: 'a', new_string: 'b' }),
    edit('memory_insert', { label: 'small', new_string: 'x', insert_line: 9 }),
    says('Sorry.'),
  ])
  const house = await openMemoryFixture(context, options)
  await house.remember({ label: 'locked', value: 'v', readOnly: true })
  await house.remember({ label: 'small', value: 'a a', limit: 10 })
  await house.ask('edit')
  const told = await outcomes(house)
  assert.deepEqual(
    told.map(({ status }) => status),
    ['error', 'error', 'error', 'error', 'error'],
  )
  const words = [/read-only/, /Exceeds 10 character limit/, /There are: locked, small/, /occurs 2 times/, /insert_line/]
  for (const [index, word] of words.entries()) assert.match(told[index]!.output, word)
  assert.deepEqual([(await house.block('locked')).value, (await house.block('small')).value], ['v', 'a a'])
})

test('an edit based on a stale version is an error for the model and overwrites nothing', async (context) => {
  const { options } = modelHouse([
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
          await updateBlock((await house.block('human')).id, { value: 'from a person' }, house.context)
        }
        return store.events.append(append)
      },
    },
  })
  const house = await openMemoryFixture(context, { ...options, wrapStore })
  await house.remember({ label: 'human', value: 'before' })
  const run = await house.ask('remember')
  assert.equal(run.stopReason, 'end_turn')
  assert.equal((await house.block('human')).value, 'from a person\nfrom the model')
  const [first, second] = await outcomes(house)
  assert.match(first!.output, /Nothing was changed: somebody else edited/)
  assert.deepEqual([first!.status, second!.status], ['error', 'success'])
  assert.deepEqual((await checkStore(house.context)).violations, [])
  assert.deepEqual(house.faults, [])
})

for (const moment of ['before', 'after'] as const)
  test(`after a death ${moment} the commit of a memory tool the block is edited exactly once`, async (context) => {
    const { options } = modelHouse([
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
          void house.crash().then(died)
          return answer ?? new Promise(() => {})
        },
      },
    })
    const house = await openMemoryFixture(context, { ...options, wrapStore })
    await house.remember({ label: 'human', value: 'first' })
    const runId = await house.send('remember')
    await death
    await house.restart()
    assert.equal((await house.wait(runId)).stopReason, 'end_turn')
    const { value, version } = await house.block('human')
    assert.deepEqual({ value, version }, { value: 'first\nonce', version: 2 })
    const { passages } = house.context.deps.store
    const found = await passages.search(DEFAULT_ORGANIZATION, house.agent.id, { text: 'away', limit: 5 })
    assert.equal(found.length, 1)
    assert.deepEqual(
      (await outcomes(house)).map(({ status }) => status),
      ['success', 'success'],
    )
    assert.deepEqual((await checkStore(house.context)).violations, [])
  })

test('archival passages and messages are found by their words', async (context) => {
  const { options } = modelHouse([
    edit('archival_memory_search', { query: 'harbor', tags: ['trip'], top_k: 1 }),
    edit('conversation_search', { query: 'lighthouse', roles: ['user'] }),
    edit('archival_memory_search', { query: 'x', start_datetime: 'yesterday-ish' }),
    says('Found.'),
  ])
  const house = await openMemoryFixture(context, options)
  await insertPassage({ agent: house.agent, text: 'The harbor of Bergen', tags: ['trip'] }, house.context)
  await insertPassage({ agent: house.agent, text: 'A harbor elsewhere' }, house.context)
  await house.ask('Tell me about the lighthouse')
  const [archive, recall, unreadable] = await outcomes(house)
  assert.match(archive!.output, /The harbor of Bergen/)
  assert.doesNotMatch(archive!.output, /elsewhere/)
  assert.match(recall!.output, /Tell me about the lighthouse/)
  assert.match(unreadable!.output, /ISO 8601/)
})

test('an agent without memory has its instructions alone as prompt', async (context) => {
  const { model, options } = modelHouse([says('Hello.')])
  const house = await openMemoryFixture(context, options)
  await house.ask('hello')
  assert.equal(model.requests[0]!.system, house.agent.system)
})

test('an agent can require approval for a tool that does not need it by default, and undo that', async (context) => {
  const { options } = modelHouse([edit('memory_insert', { label: 'human', new_string: 'x' }), says('Done.')])
  const house = await openMemoryFixture(context, options)
  await house.remember({ label: 'human', value: 'v' })
  await setApproval({ agent: house.agent, tool: 'memory_insert', isRequired: true }, house.context)
  assert.equal((await house.ask('edit')).stopReason, 'requires_approval')
  assert.equal((await house.block('human')).value, 'v')
})
