import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageBody } from '../../src/core/message.ts'
import { textOf } from '../../src/core/message.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { approvePairing } from '../../src/service/gateway/pairings.ts'
import { listInbound, listOutbound } from '../../src/service/gateway/updates.ts'
import { gate, tool } from '../harness/tools.ts'
import { ADA, BOB, openGatewayFixture, TEAM, until } from './fixture-gateway.ts'

const echo = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]

test('a conversation: each message is answered once, and the agent remembers the former ones', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script: echo } })
  const { telegram, waitFor, said, fixture } = gateway
  telegram.say('one')
  await waitFor('You said: one')
  telegram.say('two')
  await waitFor('You said: two')
  assert.deepEqual(said(), ['You said: one', 'You said: two'])
  const seen = fixture.requests
    .at(-1)!
    .messages.map((body: MessageBody) => ('content' in body ? textOf(body.content) : ''))
  assert.deepEqual(seen.filter(Boolean).slice(-3), ['one', 'You said: one', 'two'])
  assert.deepEqual(fixture.faults, [])
})

test('a stranger is shown a code, is not heard, and talks once the code is approved', async (context) => {
  const { telegram, waitFor, said, fixture } = await openGatewayFixture(context, {
    home: { script: echo },
    settings: { access: 'pairing' },
  })
  telegram.say('let me in')
  const greeting = await waitFor(/pairing code is/)
  const code = /code is (\w{8})/.exec(greeting.text)![1]!
  telegram.say('hello?')
  await until(async () => (await listInbound({ limit: 5, state: 'ended' }, fixture.context)).length === 2, telegram)
  assert.equal(said().length, 1, 'one reply in an hour')
  assert.equal(fixture.requests.length, 0)
  await approvePairing(code.toLowerCase(), fixture.context)
  await waitFor(/You are paired/)
  telegram.say('thanks')
  await waitFor('You said: thanks')
  await assert.rejects(approvePairing('NOSUCHCD', fixture.context), /There is no pairing code/)
})

test('an answer that is too long for one message arrives in parts, in order, with nothing lost', async (context) => {
  const lines = Array.from({ length: 400 }, (_, index) => `Line ${index} of a long **answer**.`)
  const { telegram, waitFor, said } = await openGatewayFixture(context, {
    home: { script: [{ text: lines.join('\n') }] },
  })
  telegram.say('tell me everything')
  await waitFor(/Line 399/)
  assert.ok(said().length >= 3)
  assert.equal(said().join('\n'), lines.join('\n').replaceAll('*', ''))
  for (const text of said()) assert.ok(text.length <= 4096)
})

test('progress is one message that is edited within the rates, and becomes the answer', async (context) => {
  const text = 'word '.repeat(60).trim()
  const { telegram, waitFor, said } = await openGatewayFixture(context, {
    home: { script: [{ text, pace: { chunkSize: 10, delayMs: 120 } }] },
    isPaced: true,
  })
  telegram.say('talk slowly')
  const answer = await waitFor(text)
  assert.deepEqual(said(), [text])
  assert.ok(answer.versions.length >= 3, `the text grew: ${answer.versions.length} versions`)
  assert.equal(answer.versions[0], '…')
})

const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
const guardedScript = [
  { text: 'I will send it.', calls: [{ tool: 'send_postcard', input: { to: 'Bob <b>' } }] },
  { text: 'It is on its way.' },
]

test('an approval by button: bound to one call, for approvers, once, and the prompt says who decided', async (context) => {
  const { telegram, waitFor, said, fixture } = await openGatewayFixture(context, {
    home: { script: guardedScript, tools: [guarded] },
    settings: { approvers: [String(BOB.id)] },
  })
  telegram.say('send a postcard')
  const prompt = await waitFor(/send_postcard needs your approval/)
  const [approve, deny] = prompt.buttons
  assert.ok(approve && deny && Buffer.byteLength(approve.callback_data) <= 64)
  const refused = telegram.press(prompt, approve.callback_data, ADA)
  await until(() => telegram.presses.get(refused)?.text !== undefined, telegram)
  assert.match(telegram.presses.get(refused)!.text!, /not an approver/)
  const pressed = telegram.press(prompt, approve.callback_data, BOB)
  await waitFor('It is on its way.')
  assert.match(telegram.presses.get(pressed)!.text!, /You approved send_postcard/)
  await waitFor(/send_postcard was approved by Bob \(1002\)/)
  const again = telegram.press(prompt, deny.callback_data, BOB)
  await until(() => telegram.presses.get(again)?.text !== undefined, telegram)
  assert.match(telegram.presses.get(again)!.text!, /Already approved by Bob/)
  const forged = telegram.press(prompt, 'a:AAAAAAAAAAAAAAAA', BOB)
  await until(() => telegram.presses.get(forged)?.text !== undefined, telegram)
  assert.match(telegram.presses.get(forged)!.text!, /no effect any more/)
  assert.equal(prompt.buttons.length, 0)
  assert.equal(said().filter((text) => text === 'It is on its way.').length, 1)
  assert.deepEqual(fixture.faults, [])
})

test('an approval by command, for clients without buttons; a message meanwhile waits and is answered after it', async (context) => {
  const { telegram, waitFor } = await openGatewayFixture(context, {
    home: {
      script: (request) => (lastInput(request.messages) === 'and now?' ? [{ text: 'Now this.' }] : guardedScript),
      tools: [guarded],
    },
  })
  telegram.say('send a postcard')
  await waitFor(/needs your approval/)
  telegram.say('and now?')
  await waitFor(/I will answer it when the waiting call/)
  telegram.say('/deny')
  await waitFor(/was denied by Ada/)
  await waitFor('Now this.')
})

test('/stop ends a turn in the middle of a tool', async (context) => {
  const began = gate()
  const slow = tool(
    'dig',
    (_, { signal }) =>
      new Promise((resolve) => {
        began.open()
        signal.addEventListener('abort', () => resolve({ status: 'error', output: 'stopped' }))
      }),
  )
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, {
    home: { script: [{ calls: [{ tool: 'dig', input: {} }] }, { text: 'never said' }], tools: [slow] },
  })
  telegram.say('dig a hole')
  await began.promise
  telegram.say('/stop')
  await waitFor('Stopping.')
  await waitFor('⏹ Stopped.')
  const [row] = await listInbound({ limit: 1, state: 'run' }, fixture.context)
  assert.equal((await fixture.get(row!.runId!)).status, 'cancelled')
})

test('a group: only where it is configured, only for people who may talk, and only when the bot is mentioned', async (context) => {
  const { telegram, waitFor, said, fixture } = await openGatewayFixture(context, {
    home: { script: echo },
    settings: { groups: { [TEAM.id]: { allow: [String(ADA.id)] } } },
  })
  telegram.say('nobody asked the bot', { chat: TEAM })
  telegram.say('@holdfast_test_bot from a stranger', { chat: TEAM, user: BOB })
  telegram.say('@holdfast_test_bot elsewhere', { chat: { id: -77, type: 'group', title: 'Other' } })
  telegram.say('@holdfast_test_bot hello', { chat: TEAM })
  const answer = await waitFor(/hello/, TEAM.id)
  assert.match(answer.text, /"name":"Ada","id":"1001","chat":"Team"/)
  assert.equal(said(TEAM.id).length, 1)
  const reasons = (await listInbound({ limit: 10, state: 'ended' }, fixture.context)).map(({ reason }) => reason)
  assert.deepEqual(reasons, ['group-not-allowed', 'not-allowed', 'no-mention'])
  telegram.say('and a reply counts as a mention', { chat: TEAM, replyTo: answer })
  await waitFor(/counts as a mention/, TEAM.id)
})

test('a photo reaches the model; a file is read; one that is too large is named', async (context) => {
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, { home: { script: [{ text: 'Nice.' }] } })
  const photo = telegram.addFile(Buffer.from('pixels'))
  const notes = telegram.addFile(Buffer.from('line one'))
  telegram.say('', {
    extra: { caption: 'look', photo: [{ file_id: 'small' }, { file_id: photo.id, file_size: 6 }] },
  })
  await waitFor('Nice.')
  const content = (index: number) => {
    const body = fixture.requests.at(index)!.messages.at(-1)!
    return 'content' in body ? body.content : []
  }
  assert.deepEqual(content(0), [
    { type: 'text', text: 'look' },
    { type: 'image', source: { mediaType: 'image/jpeg', data: Buffer.from('pixels').toString('base64') } },
  ])
  telegram.say('', { extra: { document: { file_id: notes.id, file_name: 'notes.txt', mime_type: 'text/plain' } } })
  await until(() => fixture.requests.length === 2, telegram)
  assert.match(textOf(content(1)), /\[file "notes.txt"\]\nline one/)
  telegram.say('', { extra: { document: { file_id: 'big', file_name: 'film.mkv', file_size: 50 * 1024 * 1024 } } })
  await until(() => fixture.requests.length === 3, telegram)
  assert.match(textOf(content(2)), /media unavailable: film.mkv has 50.0 MB/)
})

test('a text that the app cut in two is one message again', async (context) => {
  const { telegram, fixture } = await openGatewayFixture(context, { home: { script: [{ text: 'Read.' }] } })
  const text = 'abcdefg '.repeat(700)
  telegram.say(text)
  await until(() => fixture.requests.length === 1, telegram)
  assert.equal(lastInput(fixture.requests[0]!.messages), text)
  await until(async () => (await listInbound({ limit: 5, state: 'run' }, fixture.context)).length === 2, telegram)
  assert.equal(fixture.requests.length, 1)
})

test('commands: a new conversation, its state, its model and what a message does meanwhile', async (context) => {
  const { telegram, waitFor } = await openGatewayFixture(context, { home: { script: echo } })
  telegram.say('/help')
  await waitFor(/\/stop: Stop what I am doing/)
  telegram.say('/whoami@holdfast_test_bot')
  await waitFor(/id 1001/)
  telegram.say('first')
  await waitFor('You said: first')
  telegram.say('/new')
  await waitFor(/A new conversation with keeper begins/)
  telegram.say('/status')
  await waitFor(/Agent: keeper\nModel: test\/model\nState: idle/)
  telegram.say('/queue steer')
  await waitFor(/joins what I am doing/)
  telegram.say('/model nonsense')
  await waitFor(/provider\/model/)
  telegram.say('/reasoning low')
  await waitFor(/reason: low/)
})

test('a wrong token stops this account only, with the reason and the next try', async (context) => {
  const { fixture, telegram } = await openGatewayFixture(context, { settings: { token: '1:wrong' } })
  const state = async () => (await listAccounts(fixture.context))[0]
  await until(async () => (await state())?.state === 'refused', telegram)
  assert.equal((await state())?.detail, 'Unauthorized')
  assert.ok((await state())?.nextTryAt)
})

test('updates of unknown kinds, edits, bots and repeated messages each end with their reason', async (context) => {
  const { telegram, waitFor, fixture, said } = await openGatewayFixture(context, { home: { script: echo } })
  telegram.push({ poll_answer: { poll_id: '1' } })
  telegram.say('I am a bot', { user: { id: 7, first_name: 'Other', is_bot: true }, chat: TEAM })
  const message = telegram.say('hello')
  await waitFor('You said: hello')
  const wire = { message_id: message.message_id, chat: message.chat, from: ADA, date: 0, text: 'hello' }
  telegram.push({ message: wire })
  telegram.push({ edited_message: wire })
  await until(async () => (await listInbound({ limit: 10, state: 'ended' }, fixture.context)).length === 4, telegram)
  const reasons = (await listInbound({ limit: 10, state: 'ended' }, fixture.context)).map(({ reason }) => reason)
  assert.deepEqual(reasons.sort(), ['bot', 'duplicate', 'edited', 'unknown-kind'])
  assert.equal(said().length, 1)
  assert.equal((await listOutbound({ limit: 10 }, fixture.context)).length, 1)
})
