import assert from 'node:assert/strict'
import type { AccountLease, GatewayAccount } from '../../src/core/gateway/account.ts'
import type { ChatFile } from '../../src/core/gateway/chat-file.ts'
import type { RawUpdate } from '../../src/core/gateway/incoming.ts'
import type { NewOutbound } from '../../src/core/gateway/outbound.ts'
import type { ChatSession, Delivery } from '../../src/core/gateway/session.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  type AgentConversation,
  AT,
  createAgent,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  requireOpened,
} from './fixture-storage.ts'

const NAME = { organizationId: ORGANIZATION, account: 'bot' }

async function claim(store: Store, owner = newId.worker()): Promise<GatewayAccount | undefined> {
  await store.gateway.ensure({ ...NAME, platform: 'telegram', at: AT })
  await store.workers.beat(owner, 60_000)
  return store.gateway.claim(NAME, owner)
}

/** The lease of a live owner. */
async function own(store: Store): Promise<AccountLease> {
  const account = await claim(store)
  assert.ok(account)
  return { ...NAME, fence: account.fence }
}

const update = (key: string, more: Partial<RawUpdate> = {}): RawUpdate => ({
  key,
  lane: '1001',
  messageKey: `message ${key}`,
  kind: 'message',
  raw: `{"text":"${key}"}`,
  holdMs: 0,
  ...more,
})

const message = (key: string, more: Partial<NewOutbound> = {}): NewOutbound => ({
  ...NAME,
  key,
  chatId: '1001',
  isPrivate: true,
  body: { text: key },
  createdAt: AT,
  ...more,
})

const session = (agent: AgentConversation, more: Partial<ChatSession> = {}): ChatSession => ({
  ...NAME,
  ...agent,
  key: '1001',
  chatId: '1001',
  isPrivate: true,
  createdAt: AT,
  lastAt: AT,
  ...more,
})

const delivery = (agent: AgentConversation, runId = newId.run()): Delivery => ({
  ...NAME,
  runId,
  chatId: '1001',
  isPrivate: true,
  conversationId: agent.conversationId,
  state: 'open',
  isUnprompted: false,
  createdAt: AT,
})

const owed = (store: Store) => store.gateway.deliveries(NAME, 10)

const sent = { state: 'sent', messageId: '77', attempts: 0, failures: 0, lost: 0, isPlain: false, dueAt: AT } as const

export const GATEWAY: ContractTests = {
  'an account has one owner: a live one keeps it, a dead one loses it, and its writes are refused from then on':
    async ({ store, another }) => {
      const other = (await another()).store
      const first = newId.worker()
      const lease = { ...NAME, fence: (await claim(store, first))!.fence }
      assert.equal(await claim(other), undefined)
      assert.equal((await claim(store, first))!.fence, lease.fence)
      await store.workers.beat(first, -1)
      const second = await claim(other)
      assert.equal(second!.fence, lease.fence + 1)
      assert.equal(await store.gateway.commit(lease, [{ type: 'add-outbound', message: message('late') }]), false)
      assert.equal(await store.gateway.accept({ ...lease, at: AT, cursor: '5' }, [update('late')]), false)
      assert.equal(await store.gateway.setAccount(lease, { state: 'up', at: AT }), false)
      assert.equal(await store.gateway.release(lease, { state: 'stopped', at: AT }), false)
      assert.equal(await store.gateway.outbound(NAME, 'late'), undefined)
      assert.deepEqual(await store.gateway.pending(NAME, 10), [])
      const current = { ...NAME, fence: second!.fence }
      assert.equal(await other.gateway.release(current, { state: 'stopped', at: AT }), true)
      assert.equal((await claim(store))!.fence, lease.fence + 2)
    },

  'updates and their cursor are one commit; an update that comes again is left as it is': async ({ store }) => {
    const lease = await own(store)
    assert.equal(await store.gateway.accept({ ...lease, cursor: '3', at: AT }, [update('1'), update('2')]), true)
    const [first] = await store.gateway.pending(NAME, 10)
    await store.gateway.commit(lease, [{ type: 'end-inbound', numbers: [first!.number], reason: 'command', at: AT }])
    await store.gateway.accept({ ...lease, cursor: '4', at: AT + 1 }, [update('1'), update('2'), update('3')])
    assert.deepEqual(
      (await store.gateway.pending(NAME, 10)).map(({ key }) => key),
      ['2', '3'],
    )
    assert.equal((await store.gateway.accounts(ORGANIZATION))[0]?.cursor, '4')
    const all = await store.gateway.inbound(ORGANIZATION, { limit: 10 })
    assert.deepEqual(
      all.map(({ key, state, reason }) => [key, state, reason]),
      [
        ['3', 'pending', undefined],
        ['2', 'pending', undefined],
        ['1', 'ended', 'command'],
      ],
    )
    assert.deepEqual(await store.gateway.inbound(OTHER_ORGANIZATION, { limit: 10 }), [])
    assert.equal(await store.gateway.isRepeated(NAME, { messageKey: 'message 1', number: all[0]!.number }), true)
    assert.equal(await store.gateway.isRepeated(NAME, { messageKey: 'message 3', number: all[0]!.number }), false)
  },

  'a bot with another id begins without the cursor of the former one': async ({ store }) => {
    const lease = await own(store)
    const up = { state: 'up', botName: 'one', lastSuccessAt: AT, at: AT } as const
    await store.gateway.setAccount(lease, { ...up, botId: '1' })
    await store.gateway.accept({ ...lease, cursor: '9', at: AT }, [])
    await store.gateway.setAccount(lease, { ...up, botId: '1' })
    assert.equal((await store.gateway.accounts(ORGANIZATION))[0]?.cursor, '9')
    await store.gateway.setAccount(lease, { ...up, botId: '2' })
    assert.equal((await store.gateway.accounts(ORGANIZATION))[0]?.cursor, undefined)
  },

  'all changes of a commit are written or none': async ({ store }) => {
    const lease = await own(store)
    const agent = await createAgent(store)
    const gone = { ...lease, fence: lease.fence + 5 }
    const changes = [
      { type: 'add-outbound', message: message('one') },
      { type: 'add-delivery', delivery: delivery(agent) },
    ] as const
    assert.equal(await store.gateway.commit(gone, changes), false)
    assert.equal(await store.gateway.outbound(NAME, 'one'), undefined)
    assert.deepEqual(await owed(store), [])
    assert.equal(await store.gateway.commit(lease, changes), true)
    // Made again after a lost answer.
    assert.equal(await store.gateway.commit(lease, changes), true)
    assert.equal((await store.gateway.open(NAME, 10)).length, 1)
    assert.equal((await owed(store)).length, 1)
  },

  'a message is sent by one call: a second beginning finds nothing, and a revision meanwhile is sent after it': async ({
    store,
  }) => {
    const lease = await own(store)
    await store.gateway.add(message('one'))
    const [row] = await store.gateway.open(NAME, 10)
    const sending = await store.gateway.beginSend(lease, row!.number, AT)
    assert.equal(sending?.state, 'sending')
    assert.equal(await store.gateway.beginSend(lease, row!.number, AT), undefined)
    await store.gateway.commit(lease, [{ type: 'revise-outbound', key: 'one', body: { text: 'better' }, at: AT }])
    const result = { ...sent, number: row!.number, version: sending!.version, at: AT }
    assert.equal(await store.gateway.endSend({ ...lease, fence: 99 }, result), false)
    assert.equal(await store.gateway.endSend(lease, result), true)
    assert.equal(await store.gateway.endSend(lease, result), false)
    const after = await store.gateway.outbound(NAME, 'one')
    assert.deepEqual([after?.state, after?.messageId, after?.body.text], ['pending', '77', 'better'])
  },

  'a message that is unknown stays unknown, and its chat is told once': async ({ store }) => {
    const lease = await own(store)
    await store.gateway.add(message('one'))
    const [row] = await store.gateway.open(NAME, 10)
    const sending = await store.gateway.beginSend(lease, row!.number, AT)
    const { messageId: _, ...lost } = sent
    const result = { ...lost, number: row!.number, version: sending!.version, at: AT, error: 'cut' }
    await store.gateway.endSend(lease, { ...result, state: 'unknown' })
    await store.gateway.commit(lease, [{ type: 'revise-outbound', key: 'one', body: { text: 'again' }, at: AT }])
    assert.equal((await store.gateway.outbound(NAME, 'one'))?.state, 'unknown')
    assert.equal((await store.gateway.untold(NAME, '1001')).length, 1)
    await store.gateway.commit(lease, [{ type: 'told-unknown', chatId: '1001' }])
    assert.deepEqual(await store.gateway.untold(NAME, '1001'), [])
  },

  'a run that opens in the conversation of a chat is owed to that chat, in the same commit': async ({ store }) => {
    const lease = await own(store)
    const [agent, other] = [await createAgent(store), await createAgent(store)]
    await store.gateway.commit(lease, [{ type: 'save-session', session: session(agent, { thread: '7' }) }])
    const run = requireOpened(await store.runs.open(openRun(agent)))
    await store.runs.open(openRun(other))
    assert.deepEqual(await owed(store), [{ ...delivery(agent, run.id), thread: '7', isUnprompted: true }])
  },

  'a run that a chat started, and one that continues another, are owed by the gateway alone': async ({ store }) => {
    const lease = await own(store)
    const agent = await createAgent(store)
    await store.gateway.commit(lease, [{ type: 'save-session', session: session(agent) }])
    const metadata = { gateway: { account: 'bot', chat_id: '1001' } }
    const run = requireOpened(await store.runs.open(openRun(agent, { run: { metadata } })))
    await store.runs.open(openRun(agent, { run: { continues: run.id } }))
    assert.deepEqual(await owed(store), [])
  },

  'of the chats that share a conversation, the one that spoke last hears what none of them started': async ({
    store,
  }) => {
    const lease = await own(store)
    const agent = await createAgent(store)
    const address = { chatId: '-5', isPrivate: false, thread: '3' }
    await store.gateway.commit(lease, [
      { type: 'save-session', session: session(agent) },
      { type: 'save-session', session: session(agent, { key: 'b', chatId: '1002' }) },
      { type: 'touch-session', key: 'b', address, at: AT + 1 },
    ])
    await store.runs.open(openRun(agent))
    const [{ chatId, isPrivate, thread } = {}] = await owed(store)
    assert.deepEqual({ chatId, isPrivate, thread }, address)
  },

  'a delivery that has ended stays so': async ({ store }) => {
    const lease = await own(store)
    const one = delivery(await createAgent(store))
    await store.gateway.commit(lease, [
      { type: 'add-delivery', delivery: one },
      { type: 'save-delivery', delivery: { ...one, state: 'ended' } },
      { type: 'save-delivery', delivery: { ...one, state: 'waiting' } },
      { type: 'add-delivery', delivery: one },
    ])
    assert.deepEqual(await owed(store), [])
    assert.equal((await store.gateway.delivery(ORGANIZATION, one.runId))?.state, 'ended')
  },

  'a chat that moves takes its sessions, what it is owed and what waits to be sent along': async ({ store }) => {
    const lease = await own(store)
    const agent = await createAgent(store)
    const group = { chatId: '-5', isPrivate: false }
    await store.gateway.commit(lease, [
      { type: 'save-session', session: session(agent, { ...group, key: '-5:7/1001', thread: '7' }) },
      { type: 'add-delivery', delivery: { ...delivery(agent), ...group } },
      { type: 'add-outbound', message: message('one', group) },
      { type: 'move-chat', from: '-5', to: '-100' },
    ])
    assert.equal((await store.gateway.session(NAME, '-100:7/1001'))?.chatId, '-100')
    assert.equal((await owed(store))[0]?.chatId, '-100')
    assert.equal((await store.gateway.open(NAME, 5))[0]?.chatId, '-100')
  },

  'of two decisions about a call, pressed at two servers at once, the first counts for both': async ({
    store,
    another,
  }) => {
    const lease = await own(store)
    const other = (await another()).store
    const token = {
      ...NAME,
      token: 'a'.repeat(16),
      runId: newId.run(),
      callId: 'call-1',
      digest: 'd',
      chatId: '1001',
      tool: 'post',
      messageKey: 'run/1/0',
      createdAt: AT,
    }
    await store.gateway.commit(lease, [{ type: 'add-token', token }])
    const decide = (from: Store, decision: 'approve' | 'deny') =>
      from.gateway.decide(ORGANIZATION, { token: token.token, decision, by: decision, at: AT })
    const both = await Promise.all([decide(store, 'approve'), decide(other, 'deny')])
    assert.equal(both[0]?.decision, both[1]?.decision)
    assert.equal((await decide(store, 'deny'))?.decidedBy, both[0]?.decidedBy)
    assert.equal(await store.gateway.token(OTHER_ORGANIZATION, token.token), undefined)
  },

  'a question that moves to another chat: its former token ends, the new one counts, and a press before that stays':
    async ({ store }) => {
      const lease = await own(store)
      const token = {
        ...NAME,
        account: 'desk',
        token: 'a'.repeat(16),
        runId: newId.run(),
        callId: 'call-1',
        digest: 'd',
        chatId: 'U0000BOSS',
        tool: 'post',
        messageKey: 'approval/run/1/0',
        createdAt: AT,
      }
      const moved = { ...token, ...NAME, token: 'b'.repeat(16), chatId: '1001', messageKey: 'run/1/0' }
      const elsewhere = message('approval/run/1/0', { account: 'desk', chatId: 'U0000BOSS' })
      await store.gateway.commit(lease, [
        { type: 'add-token', token },
        { type: 'add-outbound', message: elsewhere },
        { type: 'revise-outbound', account: 'desk', key: elsewhere.key, body: { text: 'asked elsewhere' }, at: AT },
      ])
      const sent = await store.gateway.outbound({ ...NAME, account: 'desk' }, elsewhere.key)
      assert.equal(sent?.body.text, 'asked elsewhere')
      await store.gateway.commit(lease, [{ type: 'move-token', from: token.token, to: moved }])
      assert.equal(await store.gateway.token(ORGANIZATION, token.token), undefined)
      assert.deepEqual(await store.gateway.token(ORGANIZATION, moved.token), moved)
      await store.gateway.decide(ORGANIZATION, { token: moved.token, decision: 'deny', by: 'Ada', at: AT })
      await store.gateway.commit(lease, [{ type: 'move-token', from: moved.token, to: token }])
      assert.equal((await store.gateway.tokensOf(ORGANIZATION, token.runId))[0]?.token, moved.token)
    },

  'accounts of one person: a link takes the accounts of both along, and its code ends': async ({ store }) => {
    const lease = await own(store)
    const identity = (senderId: string, personId: string, more = {}) => ({
      ...NAME,
      senderId,
      chatId: senderId,
      personId,
      name: senderId,
      linkedAt: AT,
      ...more,
    })
    await store.gateway.commit(lease, [
      { type: 'save-identity', identity: identity('1', 'person-a', { code: 'CODE', codeExpiresAt: AT + 5 }) },
      { type: 'save-identity', identity: identity('2', 'person-b') },
      { type: 'save-identity', identity: identity('3', 'person-b') },
      { type: 'link-identity', identity: identity('2', 'person-a'), code: 'CODE', former: 'person-b' },
    ])
    const linked = await store.gateway.identitiesOf(ORGANIZATION, 'person-a')
    assert.deepEqual(linked.map(({ senderId }) => senderId).sort(), ['1', '2', '3'])
    assert.equal(await store.gateway.identityByCode(ORGANIZATION, 'CODE'), undefined)
    assert.deepEqual(await store.gateway.identities(OTHER_ORGANIZATION), [])
    assert.equal(await store.gateway.removeIdentity(NAME, '3'), true)
    assert.equal(await store.gateway.removeIdentity(NAME, '3'), false)
  },

  'a file for a chat is stored once with its bytes, a run has a limited number, and it is removed when it was sent':
    async ({ store }) => {
      const lease = await own(store)
      const agent = await createAgent(store)
      const { conversationId } = agent
      assert.equal(await store.gateway.isOfChat(ORGANIZATION, conversationId), false)
      await store.gateway.commit(lease, [{ type: 'add-session', session: session(agent) }])
      assert.equal(await store.gateway.isOfChat(ORGANIZATION, conversationId), true)
      assert.equal(await store.gateway.isOfChat(OTHER_ORGANIZATION, conversationId), false)
      const runId = newId.run()
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      const file = (id: string, createdAt: number): ChatFile => ({
        id,
        organizationId: ORGANIZATION,
        conversationId,
        runId,
        callId: `call-${id}`,
        name: 'a "b".bin',
        mediaType: 'application/octet-stream',
        bytes: bytes.length,
        createdAt,
      })
      assert.equal(await store.gateway.addFile(file('two', AT + 1), bytes, 2), 'stored')
      assert.equal(await store.gateway.addFile(file('one', AT), bytes, 2), 'stored')
      assert.equal(await store.gateway.addFile(file('one', AT), new Uint8Array([1]), 2), 'stored')
      assert.equal(await store.gateway.addFile(file('three', AT), bytes, 2), 'too-many')
      assert.deepEqual(await store.gateway.filesOf(runId), [file('one', AT), file('two', AT + 1)])
      assert.deepEqual(Uint8Array.from((await store.gateway.fileBytes(ORGANIZATION, 'one'))!), bytes)
      assert.equal(await store.gateway.fileBytes(OTHER_ORGANIZATION, 'one'), undefined)
      await store.gateway.removeFile(ORGANIZATION, 'one')
      assert.equal(await store.gateway.fileBytes(ORGANIZATION, 'one'), undefined)
      assert.equal(await store.gateway.prune(NAME, AT + 2), 1)
      assert.deepEqual(await store.gateway.filesOf(runId), [])
    },

  'rows that ended long ago are removed; what is pending, owed or untold stays': async ({ store }) => {
    const lease = await own(store)
    const agent = await createAgent(store)
    const ended = delivery(agent)
    await store.gateway.accept({ ...lease, at: AT }, [update('1'), update('2')])
    const [first] = await store.gateway.pending(NAME, 10)
    await store.gateway.commit(lease, [
      { type: 'end-inbound', numbers: [first!.number], reason: 'command', at: AT },
      { type: 'add-delivery', delivery: ended },
      { type: 'save-delivery', delivery: { ...ended, state: 'ended' } },
      { type: 'add-delivery', delivery: delivery(agent) },
      { type: 'add-outbound', message: message('waits') },
    ])
    assert.equal(await store.gateway.prune(NAME, AT + 1), 2)
    assert.equal(await store.gateway.prune(NAME, AT + 1), 0)
    const [counts] = await store.gateway.counts(ORGANIZATION)
    const { pendingInbound, openOutbound, openDeliveries, oldestInboundAt } = counts!
    assert.deepEqual([pendingInbound, openOutbound, openDeliveries, oldestInboundAt], [1, 1, 1, AT])
  },
}
