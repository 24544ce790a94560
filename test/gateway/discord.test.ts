import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { listInbound, listOutbound } from '../../src/service/gateway/updates.ts'
import { ADA, BOT } from '../../src/simulator/discord/world.ts'
import { tool } from '../harness/tools.ts'
import { BOB, openDiscordFixture, TEAM, THREAD } from './fixture-discord.ts'
import { until } from './fixture-gateway.ts'

const echo = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]
const MENTION = `<@${BOT.id}>`

test('Discord: a conversation in private, each message answered once', async (context) => {
  const { discord, waitFor, said, fixture, connected } = await openDiscordFixture(context, { home: { script: echo } })
  await connected()
  discord.say('one')
  await waitFor('You said: one')
  discord.say('two')
  await waitFor('You said: two')
  assert.equal(said().length, 2)
  assert.equal((await listInbound({ limit: 10 }, fixture.context)).length, 2, 'its own messages are not stored')
})

test('Discord: in channels mentions and answers to the bot are heard; a thread in which it speaks is a conversation', async (context) => {
  const { discord, waitFor, said, fixture, connected } = await openDiscordFixture(context, {
    home: { script: echo },
    settings: { groups: { [TEAM.id]: { allow: [ADA.id] } } },
  })
  await connected()
  discord.say('for no one', { channel: TEAM })
  discord.say(`${MENTION} from a stranger`, { channel: TEAM, user: BOB })
  discord.say(`${MENTION} hello`, { channel: TEAM })
  const answer = await waitFor(/hello/, TEAM.id)
  assert.match(answer.content, /"name":"Ada","id":"100000000000001001"/)
  discord.say('an answer counts as a mention', { channel: TEAM, replyTo: answer })
  await waitFor(/counts as a mention/, TEAM.id)
  discord.say(`${MENTION} in the thread`, { channel: THREAD })
  await waitFor(/in the thread/, THREAD.id)
  discord.say('and without a mention there', { channel: THREAD })
  await waitFor(/without a mention there/, THREAD.id)
  assert.equal(said(TEAM.id).length, 2)
  const reasons = (await listInbound({ limit: 10, state: 'ended' }, fixture.context)).map(({ reason }) => reason)
  assert.deepEqual(reasons, ['not-allowed', 'no-mention'])
})

const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
const guardedScript = [
  { text: 'I will send it.', calls: [{ tool: 'send_postcard', input: { to: 'Bob <b>' } }] },
  { text: 'It is on its way.' },
]

test('Discord: an approval by button: deferred after the commit, for approvers, once, and the prompt says who decided', async (context) => {
  const { discord, waitFor, said, connected } = await openDiscordFixture(context, {
    home: { script: guardedScript, tools: [guarded] },
    settings: { approvers: [BOB.id], groups: { [TEAM.id]: { allow: ['*'] } } },
  })
  await connected()
  discord.say(`${MENTION} send a postcard`, { channel: TEAM })
  const prompt = await waitFor(/send_postcard\*\* needs your approval/, TEAM.id)
  const [approve, deny] = prompt.buttons
  const refused = discord.press(prompt, approve!.callback_data)
  await until(() => refused.said.length > 0, discord)
  assert.match(refused.said[0]!, /not an approver/)
  assert.ok(refused.isAnswered, 'deferred')
  const pressed = discord.press(prompt, approve!.callback_data, BOB)
  await waitFor('It is on its way.', TEAM.id)
  await waitFor(/send_postcard\*\* was approved by Bob \(100000000000001002\)/, TEAM.id)
  assert.match(pressed.said[0]!, /You approved send_postcard/)
  const again = discord.press(prompt, deny!.callback_data, BOB)
  await until(() => again.said.length > 0, discord)
  assert.match(again.said[0]!, /Already approved by Bob/)
  assert.equal(prompt.buttons.length, 0)
  assert.equal(said(TEAM.id).filter((text) => text === 'It is on its way.').length, 1)
})

test('Discord: an unknown send is settled by its nonce or the history: the answer is there once', async (context) => {
  const { discord, waitFor, said, fixture, connected } = await openDiscordFixture(context, { home: { script: echo } })
  await connected()
  const cuts = ['cut-after', 'cut-before', 'cut-after'] as const
  let count = 0
  discord.setFault(({ method, path }) => {
    const type = method === 'POST' && path.endsWith('/messages') ? cuts[count++] : undefined
    return type && { type }
  })
  discord.say('same')
  await waitFor('You said: same')
  discord.say('same')
  await until(() => said().length === 2, discord)
  const rows = () => listOutbound({ limit: 5 }, fixture.context)
  await until(async () => (await rows()).every(({ state }) => state === 'sent'), discord)
  assert.deepEqual(said(), ['You said: same', 'You said: same'])
})

test('Discord: the next process resumes the session at the last committed event', async (context) => {
  const { discord, waitFor, said, stop, start, connected } = await openDiscordFixture(context, {
    home: { script: echo },
  })
  await connected()
  discord.say('one')
  await waitFor('You said: one')
  await stop()
  discord.say('into the gap')
  // A person who was never heard of: only the session knows.
  discord.say('the first words of a person', { user: BOB })
  start()
  await waitFor('You said: into the gap')
  await waitFor('You said: the first words of a person', discord.directChannel(BOB).id)
  assert.equal(said().length, 2)
})

test('Discord: where the session was forgotten, each known channel is read from the last message on', async (context) => {
  const { discord, waitFor, said, stop, start, connected } = await openDiscordFixture(context, {
    home: { script: echo },
    settings: { groups: { [TEAM.id]: { allow: ['*'] } } },
  })
  await connected()
  discord.say('one')
  await waitFor('You said: one')
  discord.say(`${MENTION} in the thread`, { channel: THREAD })
  await waitFor(/in the thread/, THREAD.id)
  await stop()
  discord.forgetSessions()
  discord.say('into the gap')
  discord.say('a reply in the gap', { channel: THREAD })
  discord.say(`${MENTION} a mention in the gap`, { channel: TEAM })
  start()
  await waitFor('You said: into the gap')
  await waitFor(/a reply in the gap/, THREAD.id)
  await waitFor(/a mention in the gap/, TEAM.id)
  assert.equal(said().length, 2)
  assert.equal(said(THREAD.id).length, 2)
})

test('Discord: a missing intent is said in words at the start', async (context) => {
  const { discord, fixture } = await openDiscordFixture(context, {
    home: { script: echo },
    prepare: (server) => server.setContentIntent(false),
  })
  const state = async () => (await listAccounts(fixture.context))[0]
  await until(async () => (await state())?.state === 'refused', discord)
  assert.match((await state())?.detail ?? '', /Enable "Message Content Intent"/)
})
