import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import type { AccountSettings } from '../../src/core/gateway/settings.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { listSessions } from '../../src/service/gateway/chat-sessions.ts'
import { listInbound, listOutbound } from '../../src/service/gateway/updates.ts'
import type { SimulatedChat } from '../../src/simulator/telegram/world.ts'
import { gate, tool } from '../harness/tools.ts'
import { ADA, BOB, type GatewayFixture, openGatewayFixture, TEAM, TOKEN, until } from './fixture-gateway.ts'

const echo = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]
const FORUM: SimulatedChat = { id: -600, type: 'supergroup', title: 'Forum', is_forum: true }
const OPEN_GROUPS = { [TEAM.id]: { allow: ['*'], mention: false }, [FORUM.id]: { allow: ['*'], mention: false } }

const accountOf = async ({ fixture }: GatewayFixture) => (await listAccounts(fixture.context))[0]

test('a person who blocked the bot: the answer fails without a retry, with the reason, and others do not notice', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script: echo } })
  const { telegram, waitFor, fixture } = gateway
  telegram.blocked.add(ADA.id)
  telegram.say('anyone?')
  const failed = async () => (await listOutbound({ states: ['failed'], limit: 5 }, fixture.context))[0]
  await until(async () => (await failed()) !== undefined, telegram)
  assert.match((await failed())!.error!, /blocked by the user/)
  const refused = () => telegram.calls.filter(({ method, status }) => method === 'sendMessage' && status === 403).length
  assert.equal(refused(), 1)
  telegram.say('hello', { user: BOB })
  await waitFor('You said: hello', BOB.id)
  assert.equal(refused(), 1)
  assert.equal((await accountOf(gateway))?.state, 'up')
})

test('topics of a forum are conversations of their own, and are answered in their topic', async (context) => {
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, {
    home: { script: echo },
    settings: { groups: OPEN_GROUPS },
  })
  for (const thread of [11, 12]) telegram.say(`in ${thread}`, { chat: FORUM, thread })
  const answers = [await waitFor(/in 11$/, FORUM.id), await waitFor(/in 12$/, FORUM.id)]
  assert.deepEqual(
    answers.map(({ thread }) => thread),
    [11, 12],
  )
  const sessions = await listSessions({ limit: 5 }, fixture.context)
  assert.equal(new Set(sessions.map(({ conversationId }) => conversationId)).size, 2)
})

test('a topic that was deleted meanwhile: the answer goes to the chat', async (context) => {
  const held = gate()
  const wait = tool('wait', async () => {
    await held.promise
    return { status: 'success', output: 'waited' }
  })
  const { telegram, waitFor } = await openGatewayFixture(context, {
    home: { script: [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'Here it is.' }], tools: [wait] },
    settings: { groups: OPEN_GROUPS },
  })
  telegram.closedThreads.add(13)
  telegram.say('in a topic', { chat: FORUM, thread: 13 })
  held.open()
  const answer = await waitFor('Here it is.', FORUM.id)
  assert.equal(answer.thread, undefined)
})

test('a group that becomes a supergroup is followed, with its conversation and what was owed to it', async (context) => {
  const held = gate()
  const wait = tool('wait', async () => {
    await held.promise
    return { status: 'success', output: 'waited' }
  })
  const script = ({ messages }: ModelRequest) =>
    lastInput(messages).endsWith('slowly')
      ? [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'Here it is.' }]
      : [{ text: `You said: ${lastInput(messages)}` }]
  const supergroup: SimulatedChat = { id: -100_500, type: 'supergroup', title: 'Team' }
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, {
    home: { script, tools: [wait] },
    settings: { groups: { ...OPEN_GROUPS, [supergroup.id]: { allow: ['*'], mention: false } } },
  })
  telegram.say('slowly', { chat: TEAM })
  await until(async () => (await listInbound({ state: 'run', limit: 1 }, fixture.context)).length === 1, telegram)
  const [before] = await listSessions({ limit: 1 }, fixture.context)
  telegram.moved.set(TEAM.id, supergroup.id)
  telegram.say('', { chat: TEAM, extra: { migrate_to_chat_id: supergroup.id } })
  held.open()
  await waitFor('Here it is.', supergroup.id)
  telegram.say('and on we go', { chat: supergroup })
  await waitFor(/and on we go/, supergroup.id)
  const sessions = await listSessions({ limit: 5 }, fixture.context)
  assert.deepEqual(
    sessions.map(({ chatId, conversationId }) => [chatId, conversationId]),
    [[String(supergroup.id), before!.conversationId]],
  )
})

test('a group whose move only an answer revealed is followed, too', async (context) => {
  const { telegram, waitFor } = await openGatewayFixture(context, {
    home: { script: echo },
    settings: { groups: OPEN_GROUPS },
  })
  telegram.moved.set(TEAM.id, -100_501)
  telegram.say('hello', { chat: TEAM })
  await waitFor(/hello$/, -100_501)
})

test('another program that polls for the same bot: the account says so, and receives again when it ends', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script: echo } })
  const { telegram, waitFor } = gateway
  await until(async () => (await accountOf(gateway))?.state === 'up', telegram)
  const other = new AbortController()
  context.after(() => other.abort())
  const poll = async () => {
    while (!other.signal.aborted)
      await fetch(`${telegram.url}/bot${TOKEN}/getUpdates?timeout=50`, { signal: other.signal }).catch(() => undefined)
  }
  const polling = poll()
  await until(async () => (await accountOf(gateway))?.state === 'conflict', telegram)
  const account = await accountOf(gateway)
  assert.match(account!.detail!, /other getUpdates request/)
  assert.ok(account!.nextTryAt)
  other.abort()
  await polling
  telegram.say('still there?')
  await waitFor('You said: still there?')
  assert.equal((await accountOf(gateway))?.state, 'up')
})

test('the platform that cannot be reached: the account backs off, says when it tries again, and loses nothing', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script: echo } })
  const { telegram, waitFor } = gateway
  await gateway.configure({ apiRoot: `http://127.0.0.1:${await freePort()}` })
  await until(async () => (await accountOf(gateway))?.state === 'backing-off', telegram)
  const account = await accountOf(gateway)
  assert.match(account!.detail!, /cannot reach the platform \(ECONNREFUSED\)/)
  telegram.say('said meanwhile')
  await gateway.configure({ apiRoot: telegram.url })
  await waitFor('You said: said meanwhile')
})

test('a chat may use the tools of its toolset and no others', async (context) => {
  const tools = ['look', 'change'].map((name) => tool(name, () => ({ status: 'success', output: name })))
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, {
    home: { script: echo, tools },
    settings: {
      tools: 'careful',
      toolsets: { careful: ['look'], none: [], all: ['look', 'change'] },
      groups: {
        [TEAM.id]: { allow: ['*'], mention: false, tools: 'all' },
        [FORUM.id]: { allow: ['*'], mention: false, tools: 'none' },
      },
    },
  })
  telegram.say('private')
  await waitFor(/private$/)
  telegram.say('team', { chat: TEAM })
  await waitFor(/team$/, TEAM.id)
  telegram.say('forum', { chat: FORUM })
  await waitFor(/forum$/, FORUM.id)
  const offered = fixture.requests.map((request) => request.tools.map(({ name }) => name).sort())
  assert.deepEqual(offered, [['look'], ['change', 'look'], []])
})

test('a voice note reaches the agent as words; without a transcription, or if it fails, the agent is told why', async (context) => {
  const heard: { name: string; mediaType: string; bytes: string }[] = []
  let answer: { text: string } | { fault: string } = { text: 'buy milk' }
  const gateway = await openGatewayFixture(context, {
    home: { script: echo },
    transcribe: async ({ bytes, mediaType, name }) => {
      heard.push({ name, mediaType, bytes: Buffer.from(bytes).toString() })
      return answer
    },
  })
  const { telegram, waitFor } = gateway
  const note = telegram.addFile(Buffer.from('OggS'))
  const say = () => telegram.say('', { extra: { voice: { file_id: note.id, duration: 4, file_size: 4 } } })
  say()
  await waitFor('You said: [voice note of 4 s] buy milk')
  assert.deepEqual(heard, [{ name: 'voice.ogg', mediaType: 'audio/ogg', bytes: 'OggS' }])
  answer = { fault: 'the transcription did not answer' }
  say()
  await waitFor(/voice note of 4 s: the transcription did not answer/)
  await gateway.configure({}, { transcribe: undefined })
  say()
  await waitFor(/no transcription is configured/)
})

/** Below the ports that the system gives to others, so that none of them takes it before the gateway listens. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

const post = (url: string, secret: string, body: string) =>
  fetch(url, { method: 'POST', headers: { 'x-telegram-bot-api-secret-token': secret }, body })

test('webhook: updates are stored before they are confirmed, only the secret opens it, and what was not stored comes again', async (context) => {
  const url = `http://127.0.0.1:${await freePort()}`
  const webhook: Partial<AccountSettings> = {
    webhookUrl: url,
    webhookListen: url.replace('http://', ''),
    webhookSecret: 'open-sesame',
  }
  const gateway = await openGatewayFixture(context, { home: { script: echo }, settings: webhook })
  const { telegram, waitFor, said } = gateway
  await until(() => telegram.calls.some(({ method, isAccepted }) => method === 'setWebhook' && isAccepted), telegram)
  telegram.say('by webhook')
  await waitFor('You said: by webhook')
  assert.equal(
    telegram.calls.some(({ method }) => method === 'getUpdates'),
    false,
  )

  const update = JSON.stringify({
    update_id: 1,
    message: { message_id: 9, chat: { id: 1001, type: 'private' }, from: ADA, date: 0, text: 'forged' },
  })
  assert.equal((await post(url, 'wrong', update)).status, 403)
  assert.equal((await post(url, 'open-sesame', '{"no":"update"}')).status, 400)
  assert.equal((await post(url, 'open-sesame', 'x'.repeat(1024 * 1024 + 1)).catch(() => ({ status: 400 }))).status, 400)
  assert.equal((await post(url, 'open-sesame', update)).status, 200)
  await waitFor('You said: forged')
  assert.equal((await post(url, 'open-sesame', update)).status, 200)

  // While no server listens, Telegram keeps the updates and delivers them again.
  await gateway.stop()
  telegram.say('nobody home')
  gateway.start()
  await waitFor('You said: nobody home')
  assert.deepEqual(said(), ['You said: by webhook', 'You said: forged', 'You said: nobody home'])
})

test('a webhook without a secret, or on an address in use, is refused with the reason', async (context) => {
  const telegramOnly = await openGatewayFixture(context, {
    settings: { webhookUrl: 'https://bot.example.com', webhookListen: '127.0.0.1:0' },
  })
  const detail = async () => (await accountOf(telegramOnly))?.detail ?? ''
  await until(async () => /webhook_secret/.test(await detail()), telegramOnly.telegram)
  await telegramOnly.configure({ webhookSecret: 'x', webhookListen: telegramOnly.telegram.url.replace('http://', '') })
  await until(async () => /cannot listen on .*EADDRINUSE/.test(await detail()), telegramOnly.telegram)
})

test('a text of half a table in Markdown and one that Telegram cannot parse arrive, the second one plain', async (context) => {
  const table = `| a | b |\n| --- | ---\n| *x | <b> & \`y |`
  const { telegram, waitFor } = await openGatewayFixture(context, { home: { script: [{ text: table }] } })
  telegram.say('show me')
  const answer = await waitFor(/& `?y/)
  assert.ok(answer.text.includes('<b>'))
  telegram.setFault(({ method, payload }) =>
    method === 'editMessageText' && payload.parse_mode === 'HTML'
      ? { type: 'error', status: 400, description: "Bad Request: can't parse entities: unexpected end" }
      : undefined,
  )
  telegram.say('again', { user: BOB })
  assert.equal((await waitFor(/---/, BOB.id)).text, table)
})

test('a platform that answers 200 and did nothing: the answer is said all the same', async (context) => {
  let lies = 2
  const { telegram, waitFor, said } = await openGatewayFixture(context, {
    home: { script: echo },
    telegram: { fault: ({ method }) => (method === 'sendMessage' && lies-- > 0 ? { type: 'nothing' } : undefined) },
  })
  telegram.say('really?')
  await waitFor('You said: really?')
  assert.deepEqual(said(), ['You said: really?'])
})

test('an edit that is refused for 149 s of flood control waits so long, and other chats do not', async (context) => {
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, {
    home: { script: echo },
    telegram: {
      fault: ({ method, payload }) =>
        method === 'editMessageText' && String(payload.chat_id) === String(ADA.id)
          ? { type: 'error', status: 429, description: 'Too Many Requests: retry after 149', retryAfter: 149 }
          : undefined,
    },
  })
  telegram.say('flooded')
  const pending = async () => (await listOutbound({ states: ['pending'], limit: 1 }, fixture.context))[0]
  await until(async () => ((await pending())?.dueAt ?? 0) - Date.now() > 100_000, telegram)
  assert.equal((await pending())?.attempts, 0)
  telegram.say('not flooded', { user: BOB })
  await waitFor('You said: not flooded', BOB.id)
})
