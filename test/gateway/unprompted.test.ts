import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { requireConversationById } from '../../src/service/conversations/conversations.ts'
import { listSessions } from '../../src/service/gateway/chat-sessions.ts'
import { listOutbound } from '../../src/service/gateway/updates.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { createSchedule, runScheduleNow } from '../../src/service/schedules/schedules.ts'
import { gate, tool } from '../harness/tools.ts'
import { ADA, type GatewayFixture, openGatewayFixture, TEAM, until } from './fixture-gateway.ts'

const script = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]

/** The conversation of a chat that has talked already. */
async function talk({ telegram, waitFor, fixture }: GatewayFixture) {
  telegram.say('hello')
  await waitFor('You said: hello')
  const [session] = await listSessions({ limit: 1 }, fixture.context)
  return requireConversationById(session!.conversationId, fixture.context)
}

const sendTo = (gateway: GatewayFixture, conversation: Awaited<ReturnType<typeof talk>>, text: string) =>
  sendMessage(
    { agent: gateway.fixture.agent, conversationId: conversation.id, content: [{ type: 'text', text }] },
    gateway.fixture.context,
  )

test('what the API and a schedule start in the conversation of a chat is said in the chat once', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script } })
  const { waitFor, said, fixture } = gateway
  const conversation = await talk(gateway)
  await sendTo(gateway, conversation, 'from the API')
  await waitFor('You said: from the API')
  const schedule = await createSchedule(
    {
      agent: fixture.agent,
      conversationId: conversation.id,
      timing: { type: 'interval', everyMs: 3_600_000, from: Date.now() + 3_600_000 },
      inputs: [{ role: 'user', content: [{ type: 'text', text: 'by the clock' }] }],
    },
    fixture.context,
  )
  await runScheduleNow(schedule.id, {}, fixture.context)
  await waitFor('You said: by the clock')
  await sendTo(gateway, conversation, 'the end')
  await waitFor('You said: the end')
  const answers = ['hello', 'from the API', 'by the clock', 'the end'].map((text) => `You said: ${text}`)
  assert.deepEqual(said(), answers)
})

test('runs in other conversations of the agent stay out of the chat', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script } })
  const conversation = await talk(gateway)
  await gateway.fixture.ask('in the default conversation')
  await sendTo(gateway, conversation, 'here')
  await gateway.waitFor('You said: here')
  assert.deepEqual(gateway.said(), ['You said: hello', 'You said: here'])
})

test('with `unprompted: false`, for all chats or for one, only what the chat asked is answered there', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script }, settings: { unprompted: false } })
  const conversation = await talk(gateway)
  await gateway.fixture.wait((await sendTo(gateway, conversation, 'not for you')).runId)
  await gateway.configure({ unprompted: true, groups: { [ADA.id]: { unprompted: false } } })
  await gateway.fixture.wait((await sendTo(gateway, conversation, 'nor this')).runId)
  gateway.telegram.say('and now?')
  await gateway.waitFor('You said: and now?')
  assert.deepEqual(gateway.said(), ['You said: hello', 'You said: and now?'])
})

test('an approval that a run outside of the chat waits for is asked there, and its answer is said there', async (context) => {
  const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
  const gateway = await openGatewayFixture(context, {
    home: {
      tools: [guarded],
      script: ({ messages }) =>
        lastInput(messages) === 'write to Bob'
          ? [{ calls: [{ tool: 'send_postcard', input: {} }] }, { text: 'Sent.' }]
          : [{ text: `You said: ${lastInput(messages)}` }],
    },
  })
  const conversation = await talk(gateway)
  await sendTo(gateway, conversation, 'write to Bob')
  const prompt = await gateway.waitFor(/send_postcard needs your approval/)
  gateway.telegram.press(prompt, prompt.buttons[0]!.callback_data)
  await gateway.waitFor('Sent.')
  await gateway.waitFor(/was approved by Ada/)
  assert.equal(gateway.said().filter((text) => text === 'Sent.').length, 1)
})

test('a run outside of the chat that was cancelled before it said anything is no message', async (context) => {
  const began = gate()
  const slow = tool(
    'dig',
    (_, { signal }) =>
      new Promise((resolve) => {
        began.open()
        signal.addEventListener('abort', () => resolve({ status: 'error', output: 'stopped' }))
      }),
  )
  const gateway = await openGatewayFixture(context, {
    home: {
      tools: [slow],
      script: (request) =>
        lastInput(request.messages) === 'dig' ? [{ calls: [{ tool: 'dig', input: {} }] }] : script(request),
    },
  })
  const conversation = await talk(gateway)
  const { runId } = await sendTo(gateway, conversation, 'dig')
  await began.promise
  await cancelRun(runId, gateway.fixture.context)
  await gateway.fixture.wait(runId)
  gateway.telegram.say('still there?')
  await gateway.waitFor('You said: still there?')
  assert.deepEqual(gateway.said(), ['You said: hello', 'You said: still there?'])
})

test('in a group the outcome goes to the group, and in a topic to the topic', async (context) => {
  const forum = { id: -600, type: 'supergroup', title: 'Forum', is_forum: true } as const
  const gateway = await openGatewayFixture(context, {
    home: { script },
    settings: { groups: { [TEAM.id]: { allow: ['*'], mention: false }, [forum.id]: { allow: ['*'], mention: false } } },
  })
  const { telegram, waitFor, fixture } = gateway
  telegram.say('hello', { chat: TEAM })
  telegram.say('hello', { chat: forum, thread: 77 })
  await waitFor(/hello$/, TEAM.id)
  await waitFor(/hello$/, forum.id)
  for (const { conversationId, chatId } of await listSessions({ limit: 5 }, fixture.context)) {
    const conversation = await requireConversationById(conversationId, fixture.context)
    await sendTo(gateway, conversation, `news for ${chatId}`)
    await waitFor(`You said: news for ${chatId}`, Number(chatId))
  }
  assert.equal(telegram.messages.at(-1)!.chat.id === forum.id || telegram.messages.at(-2)!.chat.id === forum.id, true)
  const inForum = telegram.messages.find(({ text }) => text === `You said: news for ${forum.id}`)
  assert.equal(inForum?.thread, 77)
})

test('a run that ends while no gateway runs, or whose process is killed, is said once by the next one', async (context) => {
  const gateway = await openGatewayFixture(context, { home: { script } })
  const { fixture, waitFor, said } = gateway
  const conversation = await talk(gateway)
  await gateway.stop()
  await fixture.wait((await sendTo(gateway, conversation, 'while you were away')).runId)
  gateway.start()
  await waitFor('You said: while you were away')
  for (let count = 0; count < 6; count++) {
    const { runId } = await sendTo(gateway, conversation, `kill ${count}`)
    // Each process dies a little further on its way from the run to the chat.
    if (count % 3 > 0) await fixture.wait(runId)
    if (count % 3 > 1)
      await until(async () => (await listOutbound({ limit: 1 }, fixture.context))[0]?.runId === runId, gateway.telegram)
    await fixture.crash()
    await fixture.restart()
    gateway.start()
    await waitFor(`You said: kill ${count}`)
  }
  const kills = said().filter((text) => text.startsWith('You said: kill'))
  assert.deepEqual(
    kills,
    Array.from({ length: 6 }, (_, count) => `You said: kill ${count}`),
  )
})

test('what a heartbeat says is said in its chat; its silence and its failures are not, and the run says so', async (context) => {
  const answers = ['HEARTBEAT_OK', 'The queue is full!']
  const gateway = await openGatewayFixture(context, {
    home: {
      script: ({ messages }) => {
        const said = lastInput(messages)
        if (!said.includes('Anything?')) return [{ text: `You said: ${said}` }]
        const answer = answers.shift()
        return [answer === undefined ? { fail: { kind: 'auth-rejected', detail: 'no key' } } : { text: answer }]
      },
    },
  })
  const { fixture, waitFor, said } = gateway
  const conversation = await talk(gateway)
  const heartbeat = await createSchedule(
    {
      agent: fixture.agent,
      conversationId: conversation.id,
      timing: { type: 'interval', everyMs: 3_600_000, from: Date.now() + 3_600_000 },
      inputs: [{ role: 'user', content: [{ type: 'text', text: 'Anything?' }] }],
      heartbeat: {},
    },
    fixture.context,
  )
  const beat = async () => fixture.wait((await runScheduleNow(heartbeat.id, {}, fixture.context)).runId)
  assert.deepEqual([(await beat()).silent, (await beat()).silent], [true, false])
  await waitFor('The queue is full!')
  assert.equal((await beat()).status, 'failed')
  await sendTo(gateway, conversation, 'the end')
  await waitFor('You said: the end')
  assert.deepEqual(said(), ['You said: hello', 'The queue is full!', 'You said: the end'])
})
