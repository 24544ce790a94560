import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ConversationId } from '../../src/core/id.ts'
import { textOf } from '../../src/core/message.ts'
import { startSessionExpirer } from '../../src/jobs/session-expirer.ts'
import { expireSessions, leaveConversation } from '../../src/service/conversations/sessions.ts'
import { listMessages } from '../../src/service/messages/messages.ts'
import { openHomeFixture } from '../harness/fixture-home.ts'
import { queueModel, says } from '../harness/queue-model.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

const MINUTE_MS = 60_000

async function openSession(context: TestContext) {
  const clock = newVirtualClock()
  const model = queueModel([says('first'), says('second'), says('third')])
  const ended: ConversationId[] = []
  const endProcesses = async (id: ConversationId) => void ended.push(id)
  const fixture = await openHomeFixture(context, { clock, providers: () => ({ test: model }), deps: { endProcesses } })
  const ask = async (text: string) => clock.advanceUntil(fixture.wait(await fixture.send(text)))
  // Fractions of minutes, which no entrance accepts, keep the virtual days short.
  const expireAfter = (idleMinutes: number) =>
    fixture.context.deps.store.agents.update(fixture.context.organizationId, fixture.agent.id, {
      edit: (before) => ({ ...before, settings: { ...before.settings, sessionExpiry: { idleMinutes } } }),
      recompiles: false,
    })
  const history = async () =>
    (await listMessages(fixture.conversationId, { take: 'newest', limit: 50 }, fixture.context)).map(({ body }) =>
      'content' in body ? textOf(body.content) : body.role,
    )
  return { clock, model, ended, fixture, ask, expireAfter, history }
}

test('by default no session ends, however long it is idle', async (context) => {
  const { clock, fixture, ask } = await openSession(context)
  await ask('one')
  await clock.advance(MINUTE_MS / 2)
  assert.equal(await expireSessions(fixture.context), 0)
})

test('an idle session ends once: its processes end, the history says so, and the next message begins a new context', async (context) => {
  const { clock, model, ended, fixture, ask, expireAfter, history } = await openSession(context)
  await expireAfter(0.3)
  await ask('one')
  const job = startSessionExpirer({ context: fixture.context } as never)
  context.after(() => job.stop())
  await clock.advance(MINUTE_MS / 4)
  assert.deepEqual(ended, [])
  await clock.advanceUntil(
    (async () => {
      while (ended.length === 0) await new Promise((resolve) => setImmediate(resolve))
    })(),
  )
  await clock.advance(MINUTE_MS)
  assert.deepEqual(ended, [fixture.conversationId], 'an ended session does not end again')
  assert.deepEqual(await fixture.messages().then((all) => all.length), 0, 'the context is new')
  await ask('two')
  const [one, first, notice, ...later] = await history()
  assert.deepEqual([one, first, later], ['one', 'first', ['two', 'second']])
  assert.match(notice!, /session ended because no message came for 0.3 minutes/)
  assert.equal(model.requests.at(-1)!.messages.length, 1)
})

test('two processes that look at the same moment end a session once', async (context) => {
  const { clock, fixture, ask, expireAfter } = await openSession(context)
  await expireAfter(0.1)
  await ask('one')
  await clock.advance(MINUTE_MS / 6)
  const counts = await Promise.all([expireSessions(fixture.context), expireSessions(fixture.context)])
  assert.equal(counts[0]! + counts[1]!, 1)
})

test('leaving a conversation ends its processes and keeps its context', async (context) => {
  const { clock, ended, fixture, ask } = await openSession(context)
  await ask('one')
  const { agent, conversationId } = fixture
  assert.equal(await leaveConversation({ agent, conversationId }, fixture.context), 'ended')
  await clock.advanceUntil(
    (async () => {
      while (ended.length === 0) await new Promise((resolve) => setImmediate(resolve))
    })(),
  )
  await ask('two')
  assert.deepEqual(ended, [conversationId])
  assert.equal((await fixture.messages()).length, 4)
})
