import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listOutbound } from '../../src/service/gateway/updates.ts'
import { newJumpingClock } from '../harness/jumping-clock.ts'
import { tool } from '../harness/tools.ts'
import { ADA, until } from './fixture-gateway.ts'
import { TEAM } from './fixture-slack.ts'
import { BOSS, openTwoPlatforms } from './fixture-two-platforms.ts'

const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
const script = ({ messages }: ModelRequest) =>
  lastInput(messages) === 'thanks'
    ? [{ text: 'You are welcome.' }]
    : [
        { text: 'I will send it.', calls: [{ tool: 'send_postcard', input: { to: 'Bob' } }] },
        { text: 'It is on its way.' },
      ]
const home = { script, tools: [guarded] }
const TO_BOSS = { account: 'desk', chatId: BOSS.id, isPrivate: true }
const open = { home, telegram: { approvalsTo: TO_BOSS }, slack: { approvers: [BOSS.id] } }

test('an approval that Telegram caused is asked on Slack alone, decided there by an approver once, and Telegram is told by whom', async (context) => {
  const two = await openTwoPlatforms(context, open)
  const { telegram, slack, waitFor, said, onSlack, saidOnSlack, shownTo } = two
  telegram.say('send a postcard')
  const waiting = await waitFor(/send_postcard waits for an approver, who was asked in another chat/)
  assert.equal(waiting.buttons.length, 0)
  const prompt = await onSlack(/send_postcard\*\* needs your approval/)
  assert.match(prompt.text, /"to": "Bob"[\s\S]*Asked in the chat 1001 of the account "bot"/)
  const [approve, deny] = prompt.buttons
  assert.ok(approve && deny)

  telegram.say('/approve')
  await waitFor(/An approver decides about it in another chat\. \/stop ends the turn\./)
  const forged = telegram.press(waiting, approve.callback_data, ADA)
  await until(() => telegram.presses.get(forged)?.text !== undefined, telegram)
  assert.match(telegram.presses.get(forged)!.text!, /no effect any more/)
  const eve = { id: 'U0000EVE', name: 'Eve' }
  slack.press(prompt, approve.callback_data, eve)
  await until(() => shownTo(eve).length === 1, slack)
  assert.match(shownTo(eve)[0]!, /belongs to another chat/)

  slack.press(prompt, approve.callback_data, BOSS)
  await waitFor('It is on its way.')
  await waitFor('✅ send_postcard was approved by Boss (U0000BOSS).')
  await onSlack(/send_postcard\*\* was approved by Boss \(U0000BOSS\)/)
  slack.press(prompt, deny.callback_data, BOSS)
  await until(() => shownTo(BOSS).length === 2, slack)
  assert.deepEqual(shownTo(BOSS), ['You approved send_postcard.', 'Already approved by Boss (U0000BOSS).'])
  assert.equal(prompt.buttons.length, 0)
  assert.equal(saidOnSlack().length, 1, 'the answer belongs to the chat that asked')
  assert.equal(said().filter((text) => text === 'It is on its way.').length, 1)
  assert.equal(
    two.telegram.messages.some(({ buttons }) => buttons.length > 0),
    false,
  )
})

test('in a group of approvers, which may be asked too, people who are none are refused', async (context) => {
  const { telegram, slack, waitFor, onSlack, shownTo } = await openTwoPlatforms(context, {
    ...open,
    telegram: { approvalsTo: { account: 'desk', chatId: TEAM.id, isPrivate: false } },
  })
  telegram.say('send a postcard')
  const prompt = await onSlack(/needs your approval/, TEAM.id)
  const eve = { id: 'U0000EVE', name: 'Eve' }
  slack.press(prompt, prompt.buttons[0]!.callback_data, eve)
  await until(() => shownTo(eve).length === 1, slack)
  assert.match(shownTo(eve)[0]!, /not an approver/)
  slack.press(prompt, prompt.buttons[1]!.callback_data, BOSS)
  await waitFor('❌ send_postcard was denied by Boss (U0000BOSS).')
})

test('a call that the chat of the approvers causes itself is asked there as always', async (context) => {
  const { slack, onSlack } = await openTwoPlatforms(context, {
    home,
    slack: { approvers: [BOSS.id], approvalsTo: TO_BOSS },
  })
  slack.say('send a postcard', { user: BOSS })
  const prompt = await onSlack(/needs your approval/)
  slack.press(prompt, prompt.buttons[0]!.callback_data, BOSS)
  await onSlack(/It is on its way/)
})

test('an approver account that is refused, or a chat that is gone: the chat that asked is asked instead, and is told why', async (context) => {
  const down = await openTwoPlatforms(context, { ...open, slack: { ...open.slack, token: 'xoxb-wrong' } })
  down.telegram.say('send a postcard')
  const here = await down.waitFor(/Asked here, because the account "desk" is not connected/)
  down.telegram.press(here, here.buttons[0]!.callback_data, ADA)
  await down.waitFor('It is on its way.')

  const gone = await openTwoPlatforms(context, {
    ...open,
    telegram: { approvalsTo: { ...TO_BOSS, chatId: 'C0000GONE', isPrivate: false } },
  })
  gone.slack.gone.add('C0000GONE')
  gone.telegram.say('send a postcard')
  const moved = await gone.waitFor(/Asked here, because the approver's chat was not reached \(.*channel_not_found/)
  assert.equal(moved.buttons.length, 2)
  gone.telegram.say('/deny')
  await gone.waitFor(/send_postcard was denied by Ada/)
})

test('an approver account that does not come back: its question moves to the chat that asked, and its buttons end', async (context) => {
  const clock = newJumpingClock(0)
  const two = await openTwoPlatforms(context, { ...open, home: { ...home, clock } })
  const { telegram, slack, waitFor, onSlack, saidOnSlack } = two
  telegram.say('send a postcard')
  const prompt = await onSlack(/needs your approval/)
  const stale = prompt.buttons[0]!.callback_data
  await two.stop()
  slack.setFault(({ method }) =>
    method === 'auth.test' ? { type: 'error', status: 200, description: 'invalid_auth' } : undefined,
  )
  clock.skip(130_000)
  two.start()
  const here = await waitFor(/Asked here, because the account "desk" is not connected/)
  await two.stop()
  slack.setFault(undefined)
  two.start()
  await two.connected()
  await onSlack(/could not be asked, so the chat that the call came from is/)
  slack.press(prompt, stale, BOSS)
  await until(() => two.shownTo(BOSS).length === 1, slack)
  assert.match(two.shownTo(BOSS)[0]!, /no effect any more/)
  telegram.press(here, here.buttons[1]!.callback_data, ADA)
  await waitFor(/send_postcard was denied by Ada/)
  assert.equal(saidOnSlack().length, 1)
})

test('an approval that expires: the prompt in the chat of the approvers says so, and so does the chat that asked', async (context) => {
  const clock = newJumpingClock(0)
  const two = await openTwoPlatforms(context, {
    ...open,
    home: { ...home, clock, defaults: { approvalTtlMs: 60_000 } },
  })
  two.telegram.say('send a postcard')
  const prompt = await two.onSlack(/needs your approval/)
  await two.stop()
  clock.skip(61_000)
  two.start()
  await two.onSlack(/send_postcard\*\*: the approval expired/)
  await two.waitFor(/send_postcard: the approval expired/)
  assert.equal(prompt.buttons.length, 0)
})

test('kill -9 at any step between the question and its answer: asked once on Slack, decided once, said once on Telegram', async (context) => {
  const two = await openTwoPlatforms(context, open)
  const { telegram, slack, fixture, waitFor, said, onSlack, saidOnSlack } = two
  const restart = async () => {
    await fixture.crash()
    await fixture.restart()
    two.start()
  }
  const rows = () => listOutbound({ account: 'desk', limit: 5 }, fixture.context)
  // Slack does what it is asked, and the process dies before it knows: the history settles that.
  slack.setFault(({ method }) => (method === 'chat.postMessage' ? { type: 'cut-after' } : undefined))
  telegram.say('send a postcard')
  await until(async () => (await rows()).length === 1, telegram)
  await restart()
  await onSlack(/needs your approval/)
  await restart()
  slack.setFault(undefined)
  await until(async () => (await rows()).every(({ state }) => state === 'sent'), slack)
  assert.equal(saidOnSlack().length, 1)
  const prompt = await onSlack(/needs your approval/)
  await two.connected()
  slack.press(prompt, prompt.buttons[0]!.callback_data, BOSS)
  await until(() => slack.unacknowledged() === 0, slack)
  await restart()
  await waitFor('It is on its way.')
  await waitFor(/send_postcard was approved by Boss/)
  assert.equal(saidOnSlack().length, 1)
  assert.equal(said().filter((text) => text === 'It is on its way.').length, 1)
  telegram.say('thanks')
  await waitFor('You are welcome.')
})
