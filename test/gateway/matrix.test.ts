import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { approvePairing } from '../../src/service/gateway/pairings.ts'
import { listInbound, listOutbound } from '../../src/service/gateway/updates.ts'
import { ADA } from '../../src/simulator/matrix/world.ts'
import { tool } from '../harness/tools.ts'
import { until } from './fixture-gateway.ts'
import { BOB, openMatrixFixture } from './fixture-matrix.ts'

const echo = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]

test('Matrix: an invitation is accepted, a stranger is paired, and each message of a conversation is answered once', async (context) => {
  const { matrix, waitFor, said, fixture, connected } = await openMatrixFixture(context, {
    home: { script: echo },
    settings: { access: 'pairing' },
  })
  await connected()
  matrix.say('let me in')
  const code = /code is (\w{8})/.exec((await waitFor(/pairing code is/)).text)![1]!
  await approvePairing(code, fixture.context)
  await waitFor(/You are paired/)
  matrix.say('one')
  await waitFor('You said: one')
  matrix.say('two')
  await waitFor('You said: two')
  assert.equal(said().length, 4)
  assert.equal((await listInbound({ limit: 10 }, fixture.context)).length, 3, 'its own messages are not stored')
})

test('Matrix: in groups mentions are heard; a thread in which the bot speaks is a conversation of its own', async (context) => {
  const { matrix, waitFor, said, fixture, connected, configure } = await openMatrixFixture(context, {
    home: { script: echo },
  })
  const room = matrix.openRoom({ name: 'Team', people: [BOB] })
  await configure({ groups: { [room.id]: { allow: [ADA.id] } } })
  await connected()
  matrix.say('for no one', { room })
  matrix.say('from a stranger', { room, user: BOB, mentions: true })
  const asked = matrix.say('hello', { room, mentions: true })
  const answer = await waitFor(/hello/, room.id)
  assert.match(answer.text, /"name":"Ada","id":"@ada:simulated.example","chat":"Team"/)
  assert.equal(answer.replyTo, asked.event_id)
  matrix.say('in the thread', { room, mentions: true, thread: asked.event_id })
  assert.equal((await waitFor(/in the thread/, room.id)).thread, asked.event_id)
  matrix.say('and without a mention there', { room, thread: asked.event_id })
  await waitFor(/without a mention there/, room.id)
  matrix.say('!whoami', { room, mentions: true })
  await waitFor(/This chat: group, id !room1:simulated.example/, room.id)
  assert.equal(said(room.id).length, 4)
  const reasons = (await listInbound({ limit: 10, state: 'ended' }, fixture.context)).map(({ reason }) => reason)
  assert.deepEqual(reasons, ['command', 'not-allowed', 'no-mention'])
})

const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
const guardedScript = [
  { text: 'I will send it.', calls: [{ tool: 'send_postcard', input: { to: 'Bob <b>' } }] },
  { text: 'It is on its way.' },
]

test('Matrix: an approval by reaction: for approvers, once, and the prompt says who decided', async (context) => {
  const { matrix, waitFor, said, fixture, connected, configure } = await openMatrixFixture(context, {
    home: { script: guardedScript, tools: [guarded] },
  })
  const room = matrix.openRoom({ name: 'Team', people: [BOB] })
  await configure({ approvers: [BOB.id], groups: { [room.id]: { allow: ['*'] } } })
  await connected()
  matrix.say('send a postcard', { room, mentions: true })
  const prompt = await waitFor(/send_postcard\*\* needs your approval[\s\S]*!approve or !deny/, room.id)
  await until(() => prompt.offered.length === 2, matrix)
  matrix.react(prompt, '✅')
  matrix.react(prompt, '👍', BOB)
  const ended = () => listInbound({ limit: 10, state: 'ended' }, fixture.context)
  await until(async () => (await ended()).length === 1, matrix)
  assert.equal((await ended())[0]!.reason, 'press-refused', 'Ada is no approver')
  // Some keyboards add a selector to the sign.
  matrix.react(prompt, '✅\uFE0F', BOB)
  await waitFor('It is on its way.', room.id)
  await waitFor(/send_postcard\*\* was approved by Bob \(@bob:simulated.example\)/, room.id)
  matrix.react(prompt, '❌', BOB)
  await until(async () => (await ended()).length === 3, matrix)
  assert.deepEqual(
    (await ended()).map(({ reason }) => reason),
    ['press-refused', 'press', 'press-refused'],
  )
  assert.equal(said(room.id).filter((text) => text === 'It is on its way.').length, 1)
})

test('Matrix: an approval by words', async (context) => {
  const { matrix, waitFor, connected } = await openMatrixFixture(context, {
    home: { script: guardedScript, tools: [guarded] },
  })
  await connected()
  matrix.say('send a postcard')
  await waitFor(/needs your approval/)
  matrix.say('!approve')
  await waitFor('It is on its way.')
  await waitFor(/was approved by Ada/)
})

test('Matrix: a send whose answer was lost is repeated as the same transaction, and found by its key when that is forgotten', async (context) => {
  const { matrix, waitFor, said, fixture, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  const cuts = ['cut-after', 'cut-before', 'cut-after'] as const
  let count = 0
  matrix.setFault(({ method, path }) => {
    const type = method === 'PUT' && path.includes('/send/m.room.message/') ? cuts[count++] : undefined
    // The last answer is lost together with the memory of the homeserver.
    if (count === 3) setImmediate(matrix.forgetTransactions)
    return type && { type }
  })
  matrix.say('same')
  await waitFor('You said: same')
  matrix.say('same')
  await until(() => said().length === 2, matrix)
  const rows = () => listOutbound({ limit: 5 }, fixture.context)
  await until(async () => (await rows()).every(({ state }) => state === 'sent'), matrix)
  assert.deepEqual(said(), ['You said: same', 'You said: same'])
})

test('Matrix: a status message whose answer was lost shows the answer of its run in the end, once', async (context) => {
  const text = 'word '.repeat(40).trim()
  const { matrix, waitFor, said, connected } = await openMatrixFixture(context, {
    home: { script: [{ text, pace: { chunkSize: 10, delayMs: 150 } }] },
  })
  await connected()
  let count = 0
  // The placeholder arrives, and the homeserver answers again only when the run is over.
  matrix.setFault(({ path }) => {
    if (!path.includes('/send/m.room.message/') && !path.includes('/messages')) return undefined
    count += 1
    return count === 1 ? { type: 'cut-after' } : count < 5 ? { type: 'error', status: 502, description: '' } : undefined
  })
  matrix.say('talk slowly')
  await waitFor(text)
  assert.deepEqual(said(), [text])
})

test('Matrix: what was said while nothing was connected is heard, also more than the homeserver delivers at once', async (context) => {
  const { matrix, waitFor, said, stop, start, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  matrix.say('one')
  await waitFor('You said: one')
  await stop()
  matrix.setTimelineLimit(2)
  for (let count = 1; count <= 6; count++) matrix.say(`in the gap ${count}`)
  matrix.say('the first words of a person', { user: BOB })
  start()
  await waitFor('You said: in the gap 6')
  await waitFor('You said: the first words of a person', matrix.directRoom(BOB).id)
  assert.deepEqual(
    said(),
    ['one', ...[1, 2, 3, 4, 5, 6].map((n) => `in the gap ${n}`)].map((t) => `You said: ${t}`),
  )
})

test('Matrix: an end-to-end encrypted room is told once that it cannot be read, and gets no other words', async (context) => {
  const { matrix, waitFor, said, fixture, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  const room = matrix.openRoom({ isEncrypted: true })
  const content = { algorithm: 'm.megolm.v1.aes-sha2', ciphertext: 'secret' }
  matrix.say('', { room, type: 'm.room.encrypted', content })
  await waitFor(/end-to-end encrypted. I cannot read/, room.id)
  matrix.say('', { room, type: 'm.room.encrypted', content })
  matrix.say('words that are not encrypted', { room })
  const failed = async () => (await listOutbound({ limit: 5 }, fixture.context)).find(({ state }) => state === 'failed')
  await until(async () => (await failed()) !== undefined, matrix)
  assert.match((await failed())!.error!, /end-to-end encrypted/)
  assert.equal(said(room.id).length, 1)
  const ended = await listInbound({ limit: 10, state: 'ended' }, fixture.context)
  assert.deepEqual(
    ended.map(({ reason }) => reason),
    ['encrypted', 'encrypted'],
  )
})

test('Matrix: a refused token is said in words, and the account goes on when it is known again', async (context) => {
  const { matrix, waitFor, said, state, configure, connected } = await openMatrixFixture(context, {
    home: { script: echo },
  })
  await connected()
  matrix.setToken('another')
  assert.match(await state('refused'), /does not know the access token.*MATRIX_ACCESS_TOKEN/)
  matrix.say('meanwhile')
  await configure({ token: 'another' })
  await waitFor('You said: meanwhile')
  assert.equal(said().length, 1)
})
