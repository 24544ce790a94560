import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { ToolOutcome } from '../../src/core/tool-call.ts'
import type { Store } from '../../src/ports/store.ts'
import { attachBlock } from '../../src/service/agents/agent-blocks.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { promptOf } from '../../src/service/conversations/prompt.ts'
import { updateBlock } from '../../src/service/memory/blocks.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { type MemoryFixture, openMemoryFixture } from '../harness/fixture-memory.ts'
import { calls, queueModel, says } from '../harness/queue-model.ts'

type Call = [tool: string, input: object]

async function fixtureWith(
  context: Parameters<typeof openMemoryFixture>[0],
  wanted: Call[],
  wrapStore?: (store: Store) => Store,
) {
  const answers = [...wanted.map(([tool, input]) => calls(tool, JSON.stringify(input))), says('Done.')]
  const model = queueModel(answers)
  return openMemoryFixture(context, { providers: () => ({ test: model }), ...defined({ wrapStore }) })
}

async function outcomes(fixture: MemoryFixture): Promise<ToolOutcome[]> {
  return (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
}

const memory = (input: object): Call => ['memory', input]

const valuesOf = async (fixture: MemoryFixture) => {
  const { blocks } = fixture.context.deps.store
  const own = await blocks.ofAgent(DEFAULT_ORGANIZATION, fixture.agent.id)
  return Object.fromEntries(own.map(({ label, value }) => [label, value]))
}

test('memory creates, edits, describes, renames and deletes blocks, which the next prompt shows', async (context) => {
  const fixture = await fixtureWith(context, [
    memory({ command: 'create', path: '/memories/plans', description: 'What is planned.', file_text: 'Sail.' }),
    memory({ command: 'str_replace', path: '/memories/plans', old_str: 'Sail', new_str: 'Row' }),
    memory({ command: 'insert', path: '/memories/plans', insert_line: 0, insert_text: 'Plans:' }),
    memory({ command: 'rename', old_path: '/memories/plans', new_path: '/memories/ideas' }),
    memory({ command: 'rename', path: '/memories/ideas', description: 'Ideas.' }),
    memory({ command: 'view', path: '/memories' }),
    memory({ command: 'delete', path: '/memories/human' }),
  ])
  const human = await fixture.remember({ label: 'human', value: 'Ada' })
  await fixture.ask('plan')
  const results = await outcomes(fixture)
  assert.deepEqual(
    results.map(({ status }) => status),
    Array(7).fill('success'),
  )
  assert.match(results[0]!.output, /^Successfully created memory block 'plans'\./)
  assert.equal(results[2]!.output, 'Plans:\nRow.')
  assert.match(results[3]!.output, /^Successfully renamed memory block 'plans' to 'ideas'\./)
  assert.match(results[4]!.output, /^Successfully updated description of memory block 'ideas'\./)
  assert.match(results[5]!.output, /"\/memories\/ideas"/)
  assert.match(results[6]!.output, /^Successfully deleted memory block 'human'\./)
  assert.deepEqual(await valuesOf(fixture), { ideas: 'Plans:\nRow.' })
  const { blocks } = fixture.context.deps.store
  assert.equal((await blocks.get(DEFAULT_ORGANIZATION, human.id))?.value, 'Ada', 'a deleted block is only detached')
  const prompt = await promptOf(fixture.conversationId, fixture.context)
  assert.match(prompt, /<ideas>\n<description>\nIdeas\.\n[\s\S]*Plans:/)
  assert.doesNotMatch(prompt, /<human>/)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a command of memory that cannot be carried out says why and changes nothing', async (context) => {
  const refused: [input: object, why: RegExp][] = [
    [
      { command: 'create', path: '/memories/human', description: '' },
      /ValueError: Memory block 'human' already exists/,
    ],
    [{ command: 'create', path: '/memories/x' }, /description is required for create command/],
    [{ command: 'create', path: '/memories/', description: '' }, /needs a label/],
    [{ command: 'delete', path: '/memories/none' }, /'none' does not exist\. Blocks: human, locked/],
    [{ command: 'delete', path: '/memories/locked' }, /read-only/],
    [{ command: 'rename', old_path: '/memories/human', new_path: '/memories/locked' }, /already exists/],
    [{ command: 'str_replace', path: '/memories/human', old_string: 'zz', new_string: '' }, /not found/],
    [{ command: 'insert', path: '/memories/human' }, /insert_text is required/],
    [{ command: 'constructor', path: '/memories/human' }, /Unknown command "constructor". Use one of view, create/],
  ]
  const fixture = await fixtureWith(
    context,
    refused.map(([input]) => memory(input)),
  )
  await fixture.remember({ label: 'human', value: 'Ada' })
  await fixture.remember({ label: 'locked', value: 'v', readOnly: true })
  await fixture.ask('try')
  const results = await outcomes(fixture)
  for (const [index, [, why]] of refused.entries()) {
    assert.match(results[index]!.output, why)
    assert.match(results[index]!.output, /^Error executing function memory: ValueError: /)
  }
  assert.deepEqual(await valuesOf(fixture), { human: 'Ada', locked: 'v' })
})

test('memory_apply_patch changes several blocks at once, or none', async (context) => {
  const whole = [
    '*** Add Block: todo',
    'Description: Open work.',
    '+- sail',
    '*** Update Block: human',
    '@@',
    ' Name: Ada',
    '-Age: 7',
    '+Age: 8',
    '*** Move to: user',
    '*** Delete Block: old',
  ].join('\n')
  const fixture = await fixtureWith(context, [
    ['memory_apply_patch', { label: '', patch: `${whole}\n*** Delete Block: none` }],
    ['memory_apply_patch', { label: '', patch: whole }],
    ['memory_apply_patch', { label: 'user', patch: '-Age: 8\n+Age: 9' }],
    ['memory_apply_patch', { label: 'user', patch: '-Age: 70\n+Age: 9' }],
    ['memory_apply_patch', { label: 'user', patch: 'nonsense' }],
  ])
  await fixture.remember({ label: 'human', value: 'Name: Ada\nAge: 7' })
  await fixture.remember({ label: 'old', value: 'x' })
  await fixture.ask('patch')
  const [failed, done, single, absent, empty] = await outcomes(fixture)
  assert.match(failed!.output, /'none' does not exist.*Nothing was changed\./s)
  assert.match(
    done!.output,
    /Operations completed:\n- Created memory block 'todo'\n- Updated memory block 'human'\n- Renamed/,
  )
  assert.equal(single!.output, 'Name: Ada\nAge: 9')
  assert.match(absent!.output, /expected hunk context not found/)
  assert.match(empty!.output, /No applicable hunks/)
  assert.deepEqual(await valuesOf(fixture), { user: 'Name: Ada\nAge: 9', todo: '- sail' })
})

test('the core memory tools of older agents edit blocks and answer as they did', async (context) => {
  const fixture = await fixtureWith(context, [
    ['core_memory_append', { label: 'human', content: 'Likes tea.' }],
    ['core_memory_replace', { label: 'human', old_content: 'tea', new_content: 'coffee' }],
    ['core_memory_replace', { label: 'human', old_content: 'milk', new_content: '' }],
    ['rethink_user_memory', { new_memory: 'Ada likes coffee.' }],
    ['memory_finish_edits', {}],
    ['conversation_search_date', { start_date: '2020-01-01', end_date: '2999-12-31' }],
    ['conversation_search_date', { start_date: 'soon', end_date: '2999-12-31' }],
  ])
  await fixture.remember({ label: 'human', value: 'Ada' })
  await fixture.ask('remember the lighthouse')
  const results = await outcomes(fixture)
  assert.deepEqual(
    results.slice(0, 5).map(({ output }) => output),
    [
      'None',
      'None',
      "Error executing function core_memory_replace: ValueError: Old content 'milk' not found in memory block 'human'",
      'None',
      'None',
    ],
  )
  assert.match(results[5]!.output, /remember the lighthouse/)
  assert.match(results[6]!.output, /must be dates/)
  assert.deepEqual(await valuesOf(fixture), { human: 'Ada likes coffee.' })
})

test('a block that is shared is renamed only if no other agent has the label', async (context) => {
  const fixture = await fixtureWith(context, [
    memory({ command: 'rename', old_path: '/memories/human', new_path: '/memories/user' }),
  ])
  const shared = await fixture.remember({ label: 'human', value: 'Ada' })
  const other = await createAgent(
    { name: 'other', model: 'test/model', blocks: [{ label: 'user', value: 'Bo' }] },
    fixture.context,
  )
  await attachBlock(other, shared.id, fixture.context)
  await fixture.ask('rename')
  assert.match((await outcomes(fixture))[0]!.output, /Nothing was changed/)
  assert.deepEqual(await valuesOf(fixture), { human: 'Ada' })
})

test('a block that a person locks after the tool has read it is neither renamed nor lost', async (context) => {
  let isOvertaken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    events: {
      ...store.events,
      async append(append) {
        const writes = append.facts.some(({ event }) => event.type === 'tool-ended' && event.writes)
        if (writes && !isOvertaken) {
          isOvertaken = true
          await updateBlock((await fixture.block('human')).id, { readOnly: true }, fixture.context)
        }
        return store.events.append(append)
      },
    },
  })
  const rename = memory({ command: 'rename', old_path: '/memories/human', new_path: '/memories/user' })
  const fixture: MemoryFixture = await fixtureWith(context, [rename], wrapStore)
  await fixture.remember({ label: 'human', value: 'Ada' })
  await fixture.ask('rename')
  assert.match((await outcomes(fixture))[0]!.output, /Nothing was changed/)
  assert.deepEqual(await valuesOf(fixture), { human: 'Ada' })
})

for (const moment of ['before', 'after'] as const)
  test(`after a death ${moment} the commit of a patch there is one new block and one rename`, async (context) => {
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
    const patch = '*** Add Block: todo\n+- sail\n*** Update Block: human\n+more\n*** Move to: user'
    const fixture: MemoryFixture = await fixtureWith(context, [['memory_apply_patch', { patch }]], wrapStore)
    await fixture.remember({ label: 'human', value: 'Ada' })
    const runId = await fixture.send('patch')
    await death
    await fixture.restart()
    assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
    assert.deepEqual(await valuesOf(fixture), { user: 'Ada\nmore', todo: '- sail' })
    assert.deepEqual((await checkStore(fixture.context)).violations, [])
  })
