import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listSessions } from '../../src/service/gateway/chat-sessions.ts'
import { listIdentities } from '../../src/service/gateway/identities.ts'
import { newJumpingClock } from '../harness/jumping-clock.ts'
import { BOB } from './fixture-gateway.ts'
import { BOSS, BOSS_CHAT, openTwoPlatforms } from './fixture-two-platforms.ts'

const script = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]
const EVE = { user: { id: 'U0000EVE', name: 'Eve' }, chat: 'D0000EVE' }

test('a code that Telegram shows, entered on Slack, makes one person of both accounts, who share a conversation by setting', async (context) => {
  const two = await openTwoPlatforms(context, {
    home: { script },
    telegram: { routing: 'per-person' },
    slack: { routing: 'per-person' },
  })
  const { telegram, slack, waitFor, onSlack, fixture } = two
  telegram.say('from Telegram')
  await waitFor('You said: from Telegram')
  telegram.say('/link')
  const code = /\/link (\w{8})/.exec((await waitFor(/\/link \w{8}/)).text)![1]!
  slack.command(`link ${code.toLowerCase()}`, { user: BOSS })
  await onSlack(/This account and "bot" belong to one person now: Ada/)
  slack.say('from Slack', { user: BOSS })
  await onSlack(/You said: from Slack/)
  const sessions = await listSessions({ limit: 5 }, fixture.context)
  assert.deepEqual(sessions.map(({ account }) => account).sort(), ['bot', 'desk'])
  assert.equal(new Set(sessions.map(({ conversationId }) => conversationId)).size, 1)
  const seen = JSON.stringify(fixture.requests.at(-1)!.messages)
  assert.match(seen, /from Telegram[\s\S]*from Slack/, 'the agent remembers what was said on the other platform')
  slack.say('/new', { user: BOSS })
  await onSlack(/A new conversation/)
  telegram.say('afterwards')
  await waitFor('You said: afterwards')
  assert.doesNotMatch(JSON.stringify(fixture.requests.at(-1)!.messages), /from Slack/)
  assert.equal(two.said().includes('You said: from Slack'), false, 'the answer goes to the chat that asked')
})

test('a wrong, a used, an expired and one’s own code each get their sentence, and link nobody', async (context) => {
  const clock = newJumpingClock(0)
  const two = await openTwoPlatforms(context, { home: { script, clock } })
  const { telegram, slack, waitFor, onSlack, fixture } = two
  const codeOn = async (channel: string) => /link (\w{8})/.exec((await onSlack(/Your link code is/, channel)).text)![1]!
  const none = (code: string) => new RegExp(`There is no link code "${code}", or it has expired`)

  telegram.say('/link WRONGCOD')
  await waitFor(none('WRONGCOD'))
  telegram.say('/link x y z')
  await waitFor(none('X Y Z'))

  slack.command('link', { user: BOSS })
  const own = await codeOn(BOSS_CHAT)
  slack.command(`link ${own}`, { user: BOSS })
  await onSlack(/This is the account that asked for the code/)
  telegram.say(`/link ${own}`)
  await waitFor(/This account and "desk" belong to one person now: Boss/)
  telegram.say(`/link ${own}`, { user: BOB })
  await waitFor(none(own), BOB.id)
  slack.command(`link ${own}`, { user: EVE.user })
  await onSlack(none(own), EVE.chat)
  assert.equal((await listIdentities(fixture.context)).length, 2)

  slack.command('link', { user: EVE.user })
  const old = await codeOn(EVE.chat)
  await two.stop()
  clock.skip(601_000)
  two.start()
  telegram.say(`/link ${old}`, { user: BOB })
  await waitFor(none(old), BOB.id)
  const known = await listIdentities(fixture.context)
  assert.equal(known.filter(({ senderId }) => senderId === String(BOB.id)).length, 0)
})
