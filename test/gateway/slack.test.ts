import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { listInbound, listOutbound } from '../../src/service/gateway/updates.ts'
import { BOT } from '../../src/simulator/slack/world.ts'
import { tool } from '../harness/tools.ts'
import { until } from './fixture-gateway.ts'
import { BOB, openSlackFixture, TEAM } from './fixture-slack.ts'

const echo = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]
const MENTION = `<@${BOT.id}>`

test('Slack: a conversation in private, each message answered once', async (context) => {
  const { slack, waitFor, said, fixture } = await openSlackFixture(context, { home: { script: echo } })
  slack.say('one &amp; <https://example.com|a link>')
  await waitFor('You said: one & a link (https://example.com)')
  slack.say('two')
  await waitFor('You said: two')
  assert.equal(said().length, 2)
  await until(() => slack.unacknowledged() === 0, slack)
  assert.equal((await listInbound({ limit: 10 }, fixture.context)).length, 2, 'its own messages are not stored')
})

test('Slack: a mention that arrives as message and as app_mention, and again in another envelope, is one run, answered in its thread', async (context) => {
  const { slack, waitFor, said, fixture } = await openSlackFixture(context, {
    home: { script: echo },
    settings: { groups: { [TEAM.id]: { allow: ['*'] } } },
  })
  slack.say('for no one', { channel: TEAM })
  const asked = slack.say(`${MENTION} hello`, { channel: TEAM })
  const answer = await waitFor(/hello/, TEAM.id)
  assert.equal(answer.thread, asked.ts)
  assert.match(answer.text, /"name":"Ada","id":"U0000ADA"/)
  // Slack delivers again what it believes was not acknowledged.
  const again = {
    type: 'message',
    channel: TEAM.id,
    channel_type: 'channel',
    user: 'U0000ADA',
    text: `${MENTION} hello`,
    ts: asked.ts,
  }
  slack.push(again, 'Ev00000002')
  slack.push(again, 'Ev99999999')
  slack.say('and without a mention, in the thread', { channel: TEAM, thread: asked.ts })
  await waitFor(/without a mention, in the thread/, TEAM.id)
  assert.equal(said(TEAM.id).length, 2)
  assert.equal(fixture.requests.length, 2)
  const reasons = (await listInbound({ limit: 10, state: 'ended' }, fixture.context)).map(({ reason }) => reason)
  assert.deepEqual(reasons.sort(), ['duplicate', 'duplicate', 'no-mention'])
})

const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
const guardedScript = [
  { text: 'I will send it.', calls: [{ tool: 'send_postcard', input: { to: 'Bob <b>' } }] },
  { text: 'It is on its way.' },
]

test('Slack: an approval by Block Kit button, for approvers, once, and the prompt says who decided', async (context) => {
  const { slack, waitFor, said } = await openSlackFixture(context, {
    home: { script: guardedScript, tools: [guarded] },
    settings: { approvers: [BOB.id], groups: { [TEAM.id]: { allow: ['*'] } } },
  })
  const told = (user: string) => slack.messages.filter(({ onlyFor }) => onlyFor === user).map(({ text }) => text)
  slack.say(`${MENTION} send a postcard`, { channel: TEAM })
  const prompt = await waitFor(/send_postcard\*\* needs your approval/, TEAM.id)
  assert.match(prompt.text, /\/holdfast approve or \/holdfast deny/)
  const [approve, deny] = prompt.buttons
  slack.press(prompt, approve!.callback_data)
  await until(() => told('U0000ADA').length === 1, slack)
  assert.match(told('U0000ADA')[0]!, /not an approver/)
  slack.press(prompt, approve!.callback_data, BOB)
  await waitFor('It is on its way.', TEAM.id)
  await waitFor(/send_postcard\*\* was approved by Bob \(U0000BOB\)/, TEAM.id)
  slack.press(prompt, deny!.callback_data, BOB)
  await until(() => told(BOB.id).length === 2, slack)
  assert.match(told(BOB.id)[1]!, /Already approved by Bob/)
  assert.equal(prompt.buttons.length, 0)
  assert.equal(said(TEAM.id).filter((text) => text === 'It is on its way.').length, 1)
})

test('Slack: an unknown send is settled by reading the history: the answer is there once', async (context) => {
  const { slack, waitFor, said, fixture } = await openSlackFixture(context, { home: { script: echo } })
  const cuts = ['cut-after', 'cut-before', 'cut-after'] as const
  let count = 0
  slack.setFault(({ method }) => {
    const type = method === 'chat.postMessage' ? cuts[count++] : undefined
    return type && { type }
  })
  slack.say('one')
  await waitFor('You said: one')
  slack.say('two')
  await waitFor('You said: two')
  const rows = () => listOutbound({ limit: 5 }, fixture.context)
  await until(async () => (await rows()).every(({ state }) => state === 'sent'), slack)
  assert.deepEqual(said(), ['You said: one', 'You said: two'])
  assert.ok(slack.calls.some(({ method }) => method === 'conversations.history'))
})

test('Slack: what was said while nothing was connected is read from the history', async (context) => {
  const { slack, waitFor, said, stop, start, connected } = await openSlackFixture(context, {
    home: { script: echo },
    settings: { groups: { [TEAM.id]: { allow: ['*'] } } },
  })
  slack.say('one')
  await waitFor('You said: one')
  const asked = slack.say(`${MENTION} in a thread`, { channel: TEAM })
  await waitFor(/in a thread/, TEAM.id)
  await stop()
  await until(() => slack.connections() === 0, slack)
  slack.say('into the gap')
  slack.say('the first words of a person', { user: BOB })
  slack.say('a reply in the gap', { channel: TEAM, thread: asked.ts })
  slack.say(`${MENTION} a mention in the gap`, { channel: TEAM })
  start()
  await connected()
  await waitFor('You said: into the gap')
  await waitFor('You said: the first words of a person', slack.directChannel(BOB).id)
  await waitFor(/a reply in the gap/, TEAM.id)
  await waitFor(/a mention in the gap/, TEAM.id)
  assert.equal(said().length, 2)
  assert.equal(said(TEAM.id).length, 3)
})

test('Slack: an event is acknowledged after its commit, and not without one', async (context) => {
  const { slack, waitFor, said, fixture } = await openSlackFixture(context, {
    home: { script: echo },
    slack: { acknowledgeMs: 300 },
  })
  const { gateway } = fixture.context.deps.store
  const accept = gateway.accept.bind(gateway)
  let refusals = 0
  gateway.accept = async (account, updates) => {
    if (updates.length > 0 && refusals++ < 2) throw new Error('the disk is full')
    return accept(account, updates)
  }
  slack.say('one')
  await waitFor('You said: one')
  await until(() => slack.unacknowledged() === 0, slack)
  assert.ok(refusals >= 3)
  assert.equal(said().length, 1)
  fixture.faults.splice(0)
})

test('Slack: a missing or refused token is said in words', async (context) => {
  const { slack, fixture, configure } = await openSlackFixture(context)
  const state = async () => (await listAccounts(fixture.context))[0]
  await configure({ appToken: 'xapp-wrong' })
  await until(async () => (await state())?.state === 'refused', slack)
  assert.equal((await state())?.detail, 'invalid_auth')
})
