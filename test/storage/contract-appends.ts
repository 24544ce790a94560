import assert from 'node:assert/strict'
import type { AppendResult } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asGuest,
  asHolder,
  cancelled,
  changes,
  collect,
  completes,
  createAgent,
  createRunningRun,
  createWaitingRun,
  ended,
  entry,
  fault,
  newId,
  ORGANIZATION,
  openRun,
  says,
  steered,
  typesOf,
} from './fixture-storage.ts'

const requireAppended = (appended: AppendResult) => {
  assert.equal(appended.type, 'appended')
  return appended as Extract<AppendResult, { type: 'appended' }>
}

export const APPENDS: ContractTests = {
  'a holder appends facts and intents, and gets them back in order': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    const appended = requireAppended(
      await store.events.append(asHolder(run, { facts: [entry(fault('one'))], intents: [entry(fault('two'))] })),
    )
    assert.equal(appended.intentsKept, true)
    assert.deepEqual(
      appended.news.map(({ seq }) => seq),
      [2, 3],
    )
    assert.deepEqual(appended.news, await store.events.read(run.id, 1))
    assert.equal((await store.runs.get(ORGANIZATION, run.id))?.nextSeq, 4)
  },

  'a stale holder writes nothing, not one row': async ({ store, snapshot }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    await store.runs.handBack(run.id, run.fence)
    const next = await store.runs.takeOver(newId.worker(), { quarantine: 'free', quarantineFrom: 2, at: AT })
    assert.equal(next?.run.fence, run.fence + 1)
    const before = JSON.stringify(await collect(snapshot.runs()))

    const step = { id: newId.step(), runId: run.id, status: 'success' as const, target: 'test/model', createdAt: AT }
    const usage = { promptTokens: 1, completionTokens: 1 }
    const appended = await store.events.append(
      asHolder(run, {
        facts: [entry(fault('late'), says(run.id, 'late'), { type: 'add-step', step: { ...step, usage } })],
        intents: [entry(ended, completes)],
      }),
    )

    assert.deepEqual(appended, { type: 'refused' })
    assert.equal(JSON.stringify(await collect(snapshot.runs())), before)
    assert.deepEqual(await store.messages.context(agent.conversationId), [])
    assert.deepEqual(await store.runs.steps(run.id), [])
    assert.equal((await store.conversations.get(ORGANIZATION, agent.conversationId))?.nextPosition, 0)
  },

  'a holder that has written often writes nothing once it is stale': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    const first = requireAppended(await store.events.append(asHolder(run, { facts: [entry(fault('one'))] })))
    const seen = first.news.at(-1)!.seq + 1
    await store.runs.handBack(run.id, run.fence)
    await store.runs.takeOver(newId.worker(), { quarantine: 'free', quarantineFrom: 2, at: AT })
    const late = { ...asHolder(run, { facts: [entry(fault('late'), says(run.id, 'late'))] }), seen }
    assert.deepEqual(await store.events.append(late), { type: 'refused' })
    assert.deepEqual(await store.events.read(run.id, seen - 1), [])
    assert.equal((await store.messages.ofRun(run.id)).length, 0)
  },

  'if other events arrived, facts are kept, intents are dropped and the news is in log order': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    await store.events.append(asGuest(run, ['running'], { facts: [entry(cancelled)] }))
    const appended = requireAppended(
      await store.events.append(
        asHolder(run, { facts: [entry(fault('fact'), says(run.id, 'kept'))], intents: [entry(ended, completes)] }),
      ),
    )
    assert.equal(appended.intentsKept, false)
    assert.deepEqual(typesOf(appended.news), ['cancel-requested', 'fault-met'])
    assert.deepEqual(
      appended.news.map(({ seq }) => seq),
      [2, 3],
    )
    assert.deepEqual(await store.events.read(run.id, 1), appended.news)
    assert.equal((await store.messages.context(agent.conversationId)).length, 1)
    assert.equal((await store.runs.get(ORGANIZATION, run.id))?.status, 'running')
  },

  'an empty append returns the news, and a stale holder is refused': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    assert.deepEqual(requireAppended(await store.events.append(asHolder(run))).news, [])
    await store.events.append(asGuest(run, ['running'], { facts: [entry(steered)] }))
    assert.deepEqual(typesOf(requireAppended(await store.events.append(asHolder(run))).news), ['input-steered'])
    const stale = { ...run, fence: run.fence - 1 }
    assert.deepEqual(await store.events.append(asHolder(stale)), { type: 'refused' })
  },

  'a retried commit is written once': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    const append = asHolder(run, {
      facts: [entry(fault('fact'), says(run.id, 'once'))],
      intents: [entry(fault('intent'))],
    })
    const first = await store.events.append(append)
    await store.events.append(asGuest(run, ['running'], { facts: [entry(cancelled)] }))
    const again = requireAppended(await store.events.append({ ...append, isRetry: true }))
    assert.equal(first.type, 'appended')
    assert.equal(again.intentsKept, true)
    assert.deepEqual(typesOf(again.news), ['fault-met', 'fault-met', 'cancel-requested'])
    assert.equal((await store.messages.context(agent.conversationId)).length, 1)
    const fresh = asHolder(run, { seen: 5, facts: [entry(fault('new'))], isRetry: true })
    assert.deepEqual(
      requireAppended(await store.events.append(fresh)).news.map(({ seq }) => seq),
      [5],
    )
  },

  'a holder cannot write to a run that has ended': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    await store.events.append(asHolder(run, { intents: [entry(ended, completes)] }))
    const late = await store.events.append(asHolder(run, { seen: 3, facts: [entry(fault('late'))] }))
    assert.deepEqual(late, { type: 'refused' })
  },

  'a guest writes only in the phases it names': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    const cancel = { facts: [entry(cancelled)] }
    assert.equal((await store.events.append(asGuest(run, ['created'], cancel))).type, 'refused')
    assert.equal((await store.events.append(asGuest(run, ['created', 'running'], cancel))).type, 'appended')

    const waiting = await createWaitingRun(store, await createAgent(store))
    assert.equal((await store.events.append(asGuest(waiting, ['completed'], cancel))).type, 'refused')
    assert.equal((await store.events.append(asGuest(waiting, ['waiting'], cancel))).type, 'appended')
  },

  'intents of a guest are all or nothing': async ({ store }) => {
    const waiting = await createWaitingRun(store, await createAgent(store))
    const over = changes({ status: 'cancelled', waiting: false, stopReason: 'cancelled', expiresAt: null })
    const cancel = { facts: [entry(cancelled)], intents: [entry(ended, over)] }
    const late = await store.events.append(asGuest(waiting, ['waiting'], { ...cancel, seen: waiting.nextSeq - 1 }))
    assert.deepEqual(late, { type: 'refused' })
    assert.equal((await store.events.read(waiting.id, 0)).length, waiting.nextSeq - 1)

    assert.equal((await store.events.append(asGuest(waiting, ['waiting'], cancel))).type, 'appended')
    const run = await store.runs.get(ORGANIZATION, waiting.id)
    assert.equal(run?.status, 'cancelled')
    assert.equal(run?.waiting, false)
    assert.equal(run?.expiresAt, undefined)
  },

  'the run row takes the changed fields and keeps the others': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    const error = { errorType: 'llm_error' as const, message: 'no' }
    const change = { status: 'failed' as const, stopReason: 'error' as const, error, completedAt: AT + 5 }
    await store.events.append(asHolder(run, { facts: [entry(ended, changes({ ...change, releaseLease: true }))] }))
    const { leaseOwner, ...rest } = run
    assert.ok(leaseOwner)
    assert.deepEqual(await store.runs.get(ORGANIZATION, run.id), { ...rest, ...change, nextSeq: 3 })
  },

  'steps are read back as they were written': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    const usage = { promptTokens: 12, completionTokens: 3, cachedTokens: 4, cacheWriteTokens: 2, reasoningTokens: 1 }
    const plain = { promptTokens: 1, completionTokens: 2 }
    const base = { runId: run.id, target: 'test/model/with/slashes', createdAt: AT }
    const error = { errorType: 'llm_timeout' as const, message: 'slow' }
    const steps = [
      { id: newId.step(), status: 'success' as const, usage, ...base },
      {
        id: newId.step(),
        status: 'failed' as const,
        usage: plain,
        error,
        stopReason: 'llm_api_error' as const,
        ...base,
      },
    ]
    const facts = steps.map((step) => entry(fault('step'), { type: 'add-step', step }))
    await store.events.append(asHolder(run, { facts }))
    assert.deepEqual(await store.runs.steps(run.id), steps)
  },

  'positions in a conversation have no gaps under concurrent writers': async ({ store }) => {
    const agent = await createAgent(store)
    const first = await createRunningRun(store, agent)
    const append = (count: number) =>
      asHolder(first, {
        facts: [entry(fault('many'), ...Array.from({ length: count }, () => says(first.id, 'hello')))],
      })
    await Promise.all([store.events.append(append(3)), store.events.append(append(1)), store.events.append(append(4))])
    const messages = await store.messages.context(agent.conversationId)
    assert.deepEqual(
      messages.map(({ position }) => position),
      [0, 1, 2, 3, 4, 5, 6, 7],
    )
    const conversation = await store.conversations.get(ORGANIZATION, agent.conversationId)
    assert.equal(conversation?.nextPosition, 8)
    assert.equal(conversation?.lastMessageAt, AT)
  },

  'an append that violates a constraint does not fail the others of its commit': async ({ store }) => {
    const agents = await Promise.all(Array.from({ length: 5 }, () => createAgent(store)))
    const runs = await Promise.all(agents.map((agent) => createRunningRun(store, agent)))
    const taken = says(runs[0]!.id, 'first')
    await store.events.append(asHolder(runs[0]!, { facts: [entry(fault('first'), taken)] }))

    const answers = await Promise.allSettled(
      runs.slice(1).map((run, index) => {
        const message = index === 1 ? taken : says(run.id, 'own')
        return store.events.append(asHolder(run, { facts: [entry(fault('next'), message)] }))
      }),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    )
    assert.equal((await store.events.read(runs[2]!.id, 0)).length, 1)
    for (const run of [runs[1]!, runs[3]!, runs[4]!]) assert.equal((await store.events.read(run.id, 0)).length, 2)
  },

  'of an answer and a cancel of the same approval exactly one wins': async ({ store, another }) => {
    const elsewhere = await another()
    for (let round = 0; round < 10; round++) {
      const agent = await createAgent(store)
      const waiting = await createWaitingRun(store, agent)
      const continuing = openRun(agent, { run: { continues: waiting.id } })
      const answered = entry(
        { type: 'approval-answered', v: 1, decisions: [], responseId: newId.message(), continuedBy: continuing.run.id },
        says(waiting.id, 'approved'),
        changes({ waiting: false, expiresAt: null }),
      )
      const over = changes({ status: 'cancelled', waiting: false, stopReason: 'cancelled', expiresAt: null })
      const answer = asGuest(waiting, ['waiting'], { intents: [answered] })
      const cancel = asGuest(waiting, ['waiting'], {
        intents: [entry(cancelled, says(waiting.id, 'denied')), entry(ended, over)],
      })
      const [run, cancelAnswer] = await Promise.all([
        store.runs.continueAfterApproval({ answer, run: continuing.run, entry: continuing.entry }),
        elsewhere.store.events.append(cancel),
      ])
      const won = [run !== undefined, cancelAnswer.type === 'appended']
      assert.equal(won.filter(Boolean).length, 1, `round ${round}: ${won}`)
      assert.equal((await store.messages.context(agent.conversationId)).length, 1)
      const row = await store.runs.get(ORGANIZATION, waiting.id)
      assert.equal(row?.status, run ? 'completed' : 'cancelled')
      assert.equal((await store.runs.get(ORGANIZATION, continuing.run.id)) !== undefined, run !== undefined)
    }
  },
}
