import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from '../../src/core/message.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { allMessages, assertAnswered, bodyText, exchange } from './fixture-recovery.ts'
import {
  assertAllFit,
  assertNoRepetition,
  bytesOf,
  eventsOfType,
  exchangeOf,
  importConversation,
  isSummaryRequest,
  openWindowsFixture,
  SMALL_BYTES,
  SUMMARY,
  tooLong,
} from './fixture-windows.ts'

// Compaction always makes room: a conversation is never stuck because it became too long, for the model that is asked or
// for the model that writes the summary.

const LONG = 'Many words. '.repeat(600)
const TURNS = Array.from({ length: 12 }, (_, index) => `question ${index}`)

test('after twelve long turns a fallback of 8,000 tokens answers for a primary without credit, and the primary goes on with everything', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['custom/wide', 'openai/narrow'],
    windows: { wide: 200_000, narrow: 8_000 },
    script: [
      {
        when: { model: 'wide', lastContains: 'while the primary has no credit' },
        answer: { error: 'payment-required' },
      },
      { when: { model: 'wide', contains: 'Summarize the conversation' }, answer: { error: 'payment-required' } },
      tooLong('narrow', 8_000),
      SUMMARY,
      { when: { model: 'narrow' }, answer: { text: 'Hello.', usage: 'none' } },
      { answer: { text: LONG, usage: 'none' } },
    ],
  })
  for (const text of TURNS) assertAnswered(await exchange(setup, text), LONG, [])
  const whole = setup.simulator.requests.at(-1)!
  assert.ok(bytesOf(whole) > 80_000)
  for (const round of ['first', 'second']) {
    const small = await exchange(setup, `${round}: while the primary has no credit`)
    assert.equal(small.run.stopReason, 'end_turn', small.story.join(', '))
    assertAllFit(small.sent, 'narrow')
    assert.ok(
      small.failures.every(({ failure, target, purpose }) =>
        target === 0 ? true : purpose !== 'summary' && failure.requestId === undefined,
      ),
      'the fallback refused nothing',
    )
    assert.match(bodyText(small.sent.at(-1)), /A summary\./)
    assert.deepEqual(
      small.after.slice(small.before.length).map(({ body }) => body.role),
      ['user', 'assistant'],
      'the summary for the fallback is not stored',
    )
  }
  const later = await exchange(setup, 'with credit again')
  assertAnswered(later, LONG, [])
  assert.ok(bytesOf(later.sent[0]!) > bytesOf(whole), 'the primary still sees the whole conversation')
  assert.deepEqual((await checkStore(setup.fixture.context)).violations, [])
})

test('a conversation with one small window never stops: every request fits it', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['openai/small'],
    windows: { small: 8_000 },
    script: [tooLong('small', 8_000), SUMMARY, { answer: { text: LONG, usage: 'none' } }],
  })
  for (const text of TURNS) assert.equal((await exchange(setup, text)).run.stopReason, 'end_turn')
  assertAllFit(setup.simulator.requests, 'small')
  assert.ok(setup.simulator.requests.length < 3 * TURNS.length, 'summaries are not written at every turn')
  assert.equal((await allMessages(setup.fixture)).filter(({ body }) => body.role === 'user').length, TURNS.length)
})

test('a conversation of a million tokens continues on a model of 8,000, and requested compaction shortens it too', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['openai/small'],
    windows: { small: 8_000 },
    script: [tooLong('small', 8_000), SUMMARY, { answer: { text: 'Hello.', usage: 'none' } }],
  })
  const history = Array.from({ length: 400 }, (_, index) =>
    exchangeOf(`${index}: ${'a'.repeat(5_000)}`, 'b'.repeat(5_000)),
  )
  const { fixture, simulator } = setup
  for (const isRequested of [false, true]) {
    const imported = await importConversation(fixture, history.flat())
    if (isRequested) {
      const compacting = await fixture.wait(await changeContext({ ...imported, task: 'compact' }, fixture.context))
      assert.equal(compacting.stopReason, 'end_turn', JSON.stringify(compacting.error))
    }
    const before = simulator.requests.length
    const run = await fixture.ask('and now?', imported)
    assert.equal(run.stopReason, 'end_turn', JSON.stringify(run.error))
    const sent = simulator.requests.slice(before)
    assert.ok(sent.length < 100, `${sent.length} requests`)
    assert.equal(sent.length === 1, isRequested)
    const [compacted, ...more] = eventsOfType(await fixture.events(run.id), 'context-compacted')
    assert.equal(compacted === undefined, isRequested)
    assert.deepEqual(more, [], 'one summary, however many requests it took')
  }
  assertAllFit(simulator.requests, 'small')
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a server that states no window is found out within the turn, and the next turn knows it', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['custom/secretive'],
    script: [tooLong('secretive'), SUMMARY, { answer: { text: LONG, usage: 'none' } }],
  })
  for (const text of TURNS) assert.equal((await exchange(setup, text)).run.stopReason, 'end_turn', text)
  const refused = setup.simulator.requests.filter((request) => bytesOf(request) > SMALL_BYTES).length
  assert.ok(refused <= 2, `${refused} refused requests in twelve turns`)
  assertNoRepetition(setup.simulator.requests)
  await setup.fixture.restart()
  const later = await exchange(setup, 'after a restart')
  assert.equal(later.run.stopReason, 'end_turn')
  assertAllFit(later.sent, 'secretive')
})

test('a long conversation on a server that takes a small part of it and states no window is answered in its first turn', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['custom/secretive'],
    script: [tooLong('secretive'), SUMMARY, { answer: { text: 'Hello.', usage: 'none' } }],
  })
  const history = Array.from({ length: 60 }, (_, index) =>
    exchangeOf(`${index}: ${'a'.repeat(5_000)}`, 'b'.repeat(5_000)),
  )
  const imported = await importConversation(setup.fixture, history.flat())
  const run = await setup.fixture.ask('and now?', imported)
  assert.equal(run.stopReason, 'end_turn', JSON.stringify(run.error))
  const refused = setup.simulator.requests.filter((request) => bytesOf(request) > SMALL_BYTES)
  assert.ok(refused.length <= 8, `${refused.length} refused requests`)
  assertNoRepetition(setup.simulator.requests)
})

for (const windows of [{ small: 8_000 }, {}])
  test(`a message larger than the window is cut in the copy that is sent, and stored whole (${Object.keys(windows).length} windows known)`, async (context) => {
    const setup = await openWindowsFixture(context, {
      chain: ['openai/small'],
      windows,
      script: [tooLong('small'), SUMMARY, { answer: { text: 'Hello.', usage: 'none' } }],
    })
    const giant = `BEGIN ${'x'.repeat(100_000)} END`
    const first = await exchange(setup, giant)
    assert.equal(first.run.stopReason, 'end_turn', first.story.join(', '))
    assert.match(bodyText(first.sent.at(-1)), /BEGIN x+ \[… \d+ characters left out …\] x+ END/)
    assert.ok(bytesOf(first.sent.at(-1)!) > SMALL_BYTES / 4, 'no more is left out than needed')
    const [stored] = first.after
    assert.ok(stored?.body.role === 'user')
    assert.equal(textOf(stored.body.content), giant)
    for (const text of ['two', 'three', 'four']) assert.equal((await exchange(setup, text)).run.stopReason, 'end_turn')
    assertNoRepetition(setup.simulator.requests)
  })

test('a tool result and arguments larger than the window are cut in the copy that is sent', async (context) => {
  const look = tool('look', () => success('y'.repeat(30_000)))
  const call = { id: 'c1', name: 'look', arguments: { path: 'z'.repeat(40_000) } }
  const setup = await openWindowsFixture(context, {
    chain: ['openai/small'],
    tools: [look],
    windows: { small: 4_000 },
    script: [
      { when: { lastContains: 'go' }, times: 1, answer: { calls: [call], usage: 'none' } },
      { when: { bytesAbove: 16_000 }, answer: { error: 'context-overflow' } },
      SUMMARY,
      { answer: { text: 'Done.', usage: 'none' } },
    ],
  })
  const { run, sent, story } = await exchange(setup, 'go')
  assert.equal(run.stopReason, 'end_turn', story.join(', '))
  assert.match(bodyText(sent.at(-1)), /characters left out/)
  assert.equal((await exchange(setup, 'and then?')).run.stopReason, 'end_turn')
})

test('while no model can write a summary a mark stands for the messages, and the turn is answered', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['openai/small'],
    windows: { small: 8_000 },
    script: [
      { ...SUMMARY, answer: { error: 'context-overflow' } },
      tooLong('small'),
      { answer: { text: LONG, usage: 'none' } },
    ],
  })
  for (const text of TURNS) {
    const { run, story } = await exchange(setup, text)
    assert.equal(run.stopReason, 'end_turn', story.join(', '))
  }
  const summaries = (await allMessages(setup.fixture)).flatMap(({ body }) =>
    body.role === 'summary' ? [body.text] : [],
  )
  assert.match(summaries.at(-1)!, /messages, about \d+ tokens left out: no configured model could summarize them/)
})

test('a summary that needs several requests goes on after a kill where it was', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['openai/small'],
    windows: { small: 8_000 },
    script: [
      tooLong('small'),
      { ...SUMMARY, times: 3 },
      { ...SUMMARY, times: 1, answer: { line: 'silent' } },
      SUMMARY,
      { answer: { text: 'Hello.', usage: 'none' } },
    ],
  })
  const { fixture, simulator } = setup
  const history = Array.from({ length: 20 }, (_, index) =>
    exchangeOf(`${index}: ${'a'.repeat(5_000)}`, 'b'.repeat(5_000)),
  )
  const imported = await importConversation(fixture, history.flat())
  const runId = await fixture.send('and now?', imported)
  const deadline = Date.now() + 60_000
  while (simulator.requests.length < 4 && Date.now() < deadline) await new Promise((resolve) => setImmediate(resolve))
  await fixture.crash()
  await fixture.restart()
  const run = await fixture.wait(runId)
  assert.equal(run.stopReason, 'end_turn', JSON.stringify(run.error))
  const told = simulator.requests.filter(isSummaryRequest).map((request) => /(\d+): aaa/.exec(bodyText(request))?.[1])
  assert.deepEqual(told[4], told[3], 'the part that was cut off is requested again')
  assert.equal(new Set(told).size, told.length - 1, 'no other part is')
  const events = await fixture.events(runId)
  assert.ok(eventsOfType(events, 'summary-extended').length >= 4)
  assert.equal(eventsOfType(events, 'context-compacted').length, 1)
})

test('a system prompt that no window can hold ends the turn with the documented reason, at every turn', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['openai/small'],
    windows: { small: 8_000 },
    script: [tooLong('small'), { answer: { text: 'Hello.', usage: 'none' } }],
  })
  for (const text of ['one', 'two']) {
    const { run, sent } = await exchange(setup, text, { system: 's'.repeat(40_000) })
    assert.equal(run.stopReason, 'context_window_overflow_in_system_prompt')
    assert.match(run.error?.detail ?? '', /system prompt and the tools take about \d+ tokens/)
    assert.equal(sent.length, 1, 'the provider decides, once')
  }
  assertAnswered(await exchange(setup, 'three'), 'Hello.', [])
  assert.deepEqual((await checkStore(setup.fixture.context)).violations, [])
})

test('a long summary of before is summarized again in parts without losing its place', async (context) => {
  const setup = await openWindowsFixture(context, {
    chain: ['openai/small'],
    windows: { small: 2_000 },
    script: [
      { when: { bytesAbove: 8_000 }, answer: { error: 'context-overflow' } },
      { ...SUMMARY, answer: { text: `A summary. ${'s'.repeat(3_000)}`, usage: 'none' } },
      { answer: { text: 'Many words. '.repeat(150), usage: 'none' } },
    ],
  })
  for (const text of TURNS) assert.equal((await exchange(setup, text)).run.stopReason, 'end_turn', text)
  assert.deepEqual((await checkStore(setup.fixture.context)).violations, [])
})
