import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { type ApprovalBody, serveGuarded } from './fixture-guarded-server.ts'

// Generated verdicts: right, of earlier questions, of other runs, agents and organizations, and made up.

const CASES = 160

/** Numbers from 0 to 1, the same in each run. */
function newChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

type Question = { runId: string; callId: string; digest: string; number: number }

const questionOf = (approval: ApprovalBody): Question => {
  const [call] = approval.tool_calls
  const { number } = JSON.parse(call!.arguments) as { number: number }
  return { runId: approval.run_id, callId: call!.tool_call_id, digest: call!.digest, number }
}

test('a verdict runs a call only if its run, call and digest are those of the question that waits, on every route', async (context) => {
  const server = await serveGuarded(context)
  const { fixture, as, ran, messages, makeKey, makeOrganization } = server
  const chance = newChance(4711)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(chance() * items.length)]!

  // Another agent, and another organization whose question must never be answered by these verdicts.
  const second = (await as()('POST', '/v1/agents', { name: 'second', model: 'test/model', tools: ['send'] })).body
  const secondMessages = `/v1/agents/${(second as { id: string }).id}/messages`
  const foreign = as((await makeKey({ scope: 'admin', organization_id: await makeOrganization('foreign') })).key)
  const theirs = (await foreign('POST', '/v1/agents', { name: 'theirs', model: 'test/model', tools: ['send'] })).body
  await foreign('POST', `/v1/agents/${(theirs as { id: string }).id}/messages`, { input: 'go' })
  const foreignQuestion = questionOf(((await foreign('GET', '/v1/approvals')).body as ApprovalBody[])[0]!)

  const { conversationId } = await fixture.get((await fixture.ask('begin')).id)
  const earlier: Question[] = []
  const waiting = async () => ((await as()('GET', '/v1/approvals')).body as ApprovalBody[]).map(questionOf)
  let [question] = await waiting()
  const seen = { matched: 0, refused: 0 }

  for (let number = 0; number < CASES; number++) {
    assert.ok(question, `case ${number}: a question waits`)
    // Right, wrong in one part, or wrong in any: what is wrong in one part alone shows which check is missing.
    const wrong = pick(WRONG)
    const isWrong = (part: Part) => wrong === part || (wrong === 'any' && chance() < 0.6)
    const old = earlier.length > 0 ? pick(earlier.slice(-5)) : question
    const runId = isWrong('run') ? pick([old.runId, foreignQuestion.runId, MADE_UP_RUN]) : question.runId
    const callId = isWrong('call')
      ? pick([old.callId, `${question.callId}x`, question.callId.toUpperCase(), `${question.callId} `, 'call_'])
      : question.callId
    const digest = isWrong('digest')
      ? pick([old.digest, foreignQuestion.digest, '0'.repeat(64), question.digest.slice(0, -1)])
      : pick([undefined, question.digest])
    const isExtra = isWrong('more calls')
    const approve = chance() < 0.7
    const route = isWrong('caller')
      ? pick(FOREIGN_ROUTES)
      : wrong === 'digest' || wrong === 'run'
        ? 'run id'
        : pick(ROUTES)
    const byClient = {
      messages: [
        {
          type: 'approval',
          approvals: [callId, ...(isExtra ? ['call_extra'] : [])].map((tool_call_id) => ({
            type: 'approval',
            tool_call_id,
            approve,
          })),
        },
      ],
    }
    const verdict = (tool_call_id: string) =>
      approve ? { tool_call_id, verdict: 'approve', digest } : { tool_call_id, verdict: 'deny' }
    const byRun = { approvals: [verdict(callId), ...(isExtra ? [verdict('call_extra')] : [])] }
    const [path, body] = {
      'run id': [`/v1/approvals/${runId}`, byRun],
      messages: [messages, byClient],
      stream: [`${messages}/stream`, byClient],
      async: [`${messages}/async`, byClient],
      conversation: [`/v1/conversations/${conversationId}/messages`, byClient],
      'another agent': [secondMessages, byClient],
      'another organization': [messages, byClient],
    }[route] as [string, object]

    const isMatch =
      !isExtra &&
      callId === question.callId &&
      route !== 'another agent' &&
      route !== 'another organization' &&
      (route !== 'run id' ||
        (runId === question.runId && (!approve || digest === undefined || digest === question.digest)))
    const before = ran.length
    const send = route === 'another organization' ? foreign : as()
    const { status, body: answer } = await send('POST', path, body)
    const told = `case ${number}: ${route} ${JSON.stringify({ runId, callId, digest, approve, isExtra, question })}: ${status} ${JSON.stringify(answer)}`
    assert.ok(status < 500, told)
    if (isMatch) {
      assert.equal(status, 200, told)
      if (approve) while (ran.length === before) await soon()
      assert.deepEqual(ran.slice(before), approve ? [{ number: question.number }] : [], told)
      seen.matched++
    } else {
      assert.deepEqual(ran.slice(before), [], told)
      assert.deepEqual(await waiting(), [question], told)
      seen.refused++
      // Its end, so that the next question comes after an approved, a denied and a cancelled one.
      if (chance() < 0.4) continue
      if (chance() < 0.5) await as()('POST', `${messages}/cancel`)
      else
        await as()('POST', `/v1/approvals/${question.runId}`, {
          approvals: [{ tool_call_id: question.callId, verdict: 'deny' }],
        })
    }
    earlier.push(question)
    while ((await waiting()).length > 0) await soon()
    await fixture.ask('again')
    ;[question] = await waiting()
  }

  const foreignNow = ((await foreign('GET', '/v1/approvals')).body as ApprovalBody[]).map(questionOf)
  assert.deepEqual(foreignNow, [foreignQuestion])
  assert.equal(new Set(earlier.map(({ callId }) => callId)).size, earlier.length, 'no call id is asked twice')
  assert.ok(seen.matched > 20 && seen.refused > 40, JSON.stringify(seen))
})

const MADE_UP_RUN = 'run-00000000-0000-4000-8000-000000000000'
const ROUTES = ['run id', 'messages', 'stream', 'async', 'conversation'] as const
const FOREIGN_ROUTES = ['another agent', 'another organization'] as const

type Part = 'run' | 'call' | 'digest' | 'more calls' | 'caller'
const WRONG: readonly (Part | 'nothing' | 'any')[] = [
  'nothing',
  'nothing',
  'run',
  'call',
  'digest',
  'more calls',
  'caller',
  'any',
]

const soon = () => clock.sleep(5, new AbortController().signal)
