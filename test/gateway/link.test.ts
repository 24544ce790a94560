import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listSessions } from '../../src/service/gateway/chat-sessions.ts'
import { listIdentities, unlinkIdentity } from '../../src/service/gateway/identities.ts'
import { ADA, BOB, type GatewayFixture, openGatewayFixture, TEAM, until } from './fixture-gateway.ts'

const home = { script: ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }] }

/** Ada has a second account: the person with the id of Bob. */
async function link({ telegram, waitFor }: GatewayFixture): Promise<string> {
  telegram.say('/link')
  const { text } = await waitFor(/\/link \w{8}/)
  const code = /\/link (\w{8})/.exec(text)![1]!
  telegram.say(`/link ${code.toLowerCase()}`, { user: BOB })
  await waitFor(/belong to one person now: Ada/, BOB.id)
  return code
}

test('a code links two accounts of one person, works once, and the operator can end the link', async (context) => {
  const gateway = await openGatewayFixture(context, { home })
  const { telegram, waitFor, fixture } = gateway
  const code = await link(gateway)
  const linked = await listIdentities(fixture.context)
  assert.deepEqual(linked.map(({ senderId }) => senderId).sort(), [String(ADA.id), String(BOB.id)])
  assert.equal(new Set(linked.map(({ personId }) => personId)).size, 1)
  assert.ok(linked.every((one) => one.code === undefined))
  telegram.say(`/link ${code}`, { user: { id: 1_003, first_name: 'Eve' } })
  await waitFor(/There is no link code/, 1_003)
  await unlinkIdentity({ account: 'bot', senderId: String(BOB.id) }, fixture.context)
  assert.equal((await listIdentities(fixture.context)).length, 1)
  await assert.rejects(unlinkIdentity({ account: 'bot', senderId: '5' }, fixture.context), /not linked/)
})

test('a code is not shown in a group, and is refused to the account that asked for it', async (context) => {
  const gateway = await openGatewayFixture(context, { home, settings: { groups: { [TEAM.id]: { allow: ['*'] } } } })
  const { telegram, waitFor, fixture } = gateway
  telegram.say('/link', { chat: TEAM })
  await waitFor('Write /link to me in a private chat.', TEAM.id)
  telegram.say('/link')
  const { text } = await waitFor(/\/link \w{8}/)
  telegram.say(/\/link \w{8}/.exec(text)![0])
  await waitFor(/Write it from your other account/)
  assert.equal((await listIdentities(fixture.context)).length, 1)
})

test('with `per-person` the chats of one person share a conversation, and /new in one begins a new one for all', async (context) => {
  const gateway = await openGatewayFixture(context, { home, settings: { routing: 'per-person' } })
  const { telegram, waitFor, fixture } = gateway
  telegram.say('before', { user: BOB })
  await waitFor('You said: before', BOB.id)
  telegram.say('one')
  await waitFor('You said: one')
  await link(gateway)
  telegram.say('two', { user: BOB })
  await waitFor('You said: two', BOB.id)
  const conversations = async () =>
    new Set((await listSessions({ limit: 5 }, fixture.context)).map(({ conversationId }) => conversationId))
  assert.equal((await conversations()).size, 1)
  const [first] = await conversations()
  telegram.say('/new', { user: BOB })
  await waitFor(/A new conversation/, BOB.id)
  telegram.say('three')
  await waitFor('You said: three')
  await until(async () => (await conversations()).size === 1, telegram)
  assert.ok(!(await conversations()).has(first!))
  assert.equal(gateway.said(BOB.id).includes('You said: three'), false, 'the answer goes to the chat that asked')
})
