import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from '../../src/core/message.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { approvePairing } from '../../src/service/gateway/pairings.ts'
import { listInbound } from '../../src/service/gateway/updates.ts'
import { BOT } from '../../src/simulator/discord/world.ts'
import { gate, tool } from '../harness/tools.ts'
import { openDiscordFixture, TEAM, THREAD } from './fixture-discord.ts'
import { until } from './fixture-gateway.ts'

const echo = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]

test('Discord: a stranger is shown a code, and is told of the approval in their own chat', async (context) => {
  const { discord, waitFor, fixture, connected } = await openDiscordFixture(context, {
    home: { script: echo },
    settings: { access: 'pairing' },
  })
  await connected()
  discord.say('let me in')
  const code = /code is (\w{8})/.exec((await waitFor(/pairing code is/)).content)![1]!
  await approvePairing(code, fixture.context)
  await waitFor(/You are paired/)
  discord.say('thanks')
  await waitFor('You said: thanks')
})

test('Discord: commands as slash commands and as text', async (context) => {
  const { discord, waitFor, connected } = await openDiscordFixture(context, { home: { script: echo } })
  await connected()
  const help = discord.command('help')
  await waitFor(/\/stop: Stop what I am doing/)
  assert.ok(help.isAnswered)
  discord.say('first')
  await waitFor('You said: first')
  discord.command('new')
  await waitFor(/A new conversation with keeper begins/)
  discord.say('/status')
  await waitFor(/Agent: keeper\nModel: test\/model\nState: idle/)
  discord.command('queue', { value: 'steer' })
  await waitFor(/joins what I am doing/)
  assert.ok(discord.calls.some(({ method, path }) => method === 'PUT' && path.endsWith('/commands')))
})

test('Discord: /stop ends a turn in the middle of a tool', async (context) => {
  const began = gate()
  const slow = tool(
    'dig',
    (_, { signal }) =>
      new Promise((resolve) => {
        began.open()
        signal.addEventListener('abort', () => resolve({ status: 'error', output: 'stopped' }))
      }),
  )
  const { discord, waitFor, connected } = await openDiscordFixture(context, {
    home: { script: [{ calls: [{ tool: 'dig', input: {} }] }, { text: 'never said' }], tools: [slow] },
  })
  await connected()
  discord.say('dig a hole')
  await began.promise
  discord.command('stop')
  await waitFor('Stopping.')
  await waitFor('⏹ Stopped.')
})

test('Discord: INVALID_SESSION, a request to reconnect and a cut connection lose nothing', async (context) => {
  const { discord, waitFor, said, connected } = await openDiscordFixture(context, { home: { script: echo } })
  await connected()
  discord.say('one')
  await waitFor('You said: one')
  discord.invalidateSessions()
  discord.say('two')
  await waitFor('You said: two')
  discord.askToReconnect()
  discord.say('three')
  await waitFor('You said: three')
  discord.cutConnections()
  discord.say('four')
  await waitFor('You said: four')
  assert.equal(said().length, 4)
})

test('Discord: a gateway that never says READY is given up and asked again', async (context) => {
  const { discord, waitFor, fixture } = await openDiscordFixture(context, {
    home: { script: echo },
    prepare: (server) => server.setMute(true),
  })
  const state = async () => (await listAccounts(fixture.context))[0]
  await until(async () => (await state())?.state === 'backing-off', discord)
  assert.match((await state())?.detail ?? '', /did not say READY within 15 s/)
  discord.setMute(false)
  await until(() => discord.connections() > 0, discord)
  discord.say('hello')
  await waitFor('You said: hello')
})

test('Discord: a press whose interaction is 16 minutes old still counts, and the message shows it', async (context) => {
  const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
  const { discord, waitFor, connected } = await openDiscordFixture(context, {
    home: {
      script: [{ text: 'I will.', calls: [{ tool: 'send_postcard', input: {} }] }, { text: 'It is on its way.' }],
      tools: [guarded],
    },
  })
  await connected()
  discord.say('send a postcard')
  const prompt = await waitFor(/needs your approval/)
  discord.setFault(({ path }) =>
    /^\/(interactions|webhooks)\//.test(path)
      ? { type: 'error', status: 401, description: 'Invalid Webhook Token' }
      : undefined,
  )
  discord.press(prompt, prompt.buttons[0]!.callback_data)
  await waitFor('It is on its way.')
  await waitFor(/was approved by Ada/)
})

test('Discord: files reach the model, and edits, notices and bots end with their reasons', async (context) => {
  const { discord, waitFor, fixture, connected } = await openDiscordFixture(context, {
    home: { script: [{ text: 'Nice.' }] },
  })
  await connected()
  discord.files.set('notes', Buffer.from('line one'))
  const message = discord.say('look', {
    attachments: [
      {
        id: '1',
        filename: 'notes.txt',
        content_type: 'text/plain; charset=utf-8',
        size: 8,
        url: `${discord.url}/files/notes`,
      },
      { id: '2', filename: 'evil.txt', content_type: 'text/plain', size: 8, url: 'http://127.0.0.1:9/x' },
    ],
  })
  await waitFor('Nice.')
  const body = fixture.requests[0]!.messages.at(-1)!
  const said = 'content' in body ? textOf(body.content) : ''
  assert.match(said, /\[file "notes.txt"\]\nline one/)
  assert.match(said, /\[media unavailable: evil.txt: the file is not at Discord\]/)
  const wire = { id: message.id, channel_id: message.channel.id, author: message.author, content: 'look!' }
  discord.deliver('MESSAGE_UPDATE', { ...wire, edited_timestamp: '2026-01-01T00:00:00Z' })
  discord.deliver('MESSAGE_CREATE', { ...wire, id: discord.newId(), type: 7 })
  discord.say('I am a bot', { user: { id: '100000000000009999', username: 'Other', bot: true } })
  const ended = () => listInbound({ limit: 10, state: 'ended' }, fixture.context)
  await until(async () => (await ended()).length === 3, discord)
  assert.deepEqual((await ended()).map(({ reason }) => reason).sort(), ['bot', 'edited', 'service-message'])
})

test('Discord: a mention in the middle of a thread brings what was said before, as data, once', async (context) => {
  const { discord, waitFor, connected } = await openDiscordFixture(context, {
    home: { script: echo },
    settings: { groups: { [TEAM.id]: { allow: ['*'] } } },
  })
  await connected()
  for (let count = 1; count <= 25; count++) discord.say(`reply ${count}`, { channel: THREAD })
  discord.say(`<@${BOT.id}> why?`, { channel: THREAD })
  const first = await waitFor(/why\?/, THREAD.id)
  const [, json = ''] = /^\[earlier messages of this thread: (.*)\]$/m.exec(first.content) ?? []
  const earlier = JSON.parse(json) as { from: string; text: string }[]
  assert.deepEqual([earlier.length, earlier[0]], [20, { from: 'Ada', text: 'reply 6' }])
  discord.say('and now?', { channel: THREAD })
  assert.doesNotMatch((await waitFor(/and now\?/, THREAD.id)).content, /earlier messages/)
})
