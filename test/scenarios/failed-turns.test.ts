import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FailureKind } from '../../src/core/failure.ts'
import type { ErrorType, StopReason } from '../../src/core/run.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { showRun } from '../../src/service/runs/runs.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

// A failed run has a stop reason and error type by one table, and one rule decides what stays in the history.

const TABLE: [FailureKind, StopReason, ErrorType][] = [
  ['timeout', 'llm_api_error', 'llm_timeout'],
  ['rate-limited', 'llm_api_error', 'llm_rate_limit'],
  ['auth-rejected', 'llm_api_error', 'llm_authentication'],
  ['empty-answer', 'invalid_llm_response', 'llm_empty_response'],
  ['overloaded', 'llm_api_error', 'llm_error'],
  ['content-refused', 'llm_api_error', 'llm_error'],
  ['quota-exhausted', 'insufficient_credits', 'llm_error'],
]

for (const [kind, stopReason, errorType] of TABLE) {
  test(`a turn that fails with ${kind} records ${stopReason} and ${errorType} on the run and in its stream`, async (context) => {
    const clock = newVirtualClock()
    const fixture = await openHomeFixture(context, {
      clock,
      script: scriptOf({ fail: { kind, detail: `simulated ${kind}` } }),
    })
    const runId = await fixture.send('hello')
    const run = await clock.advanceUntil(fixture.wait(runId))
    assert.equal(run.status, 'failed')
    assert.equal(run.stopReason, stopReason)
    assert.equal(run.error?.errorType, errorType)
    assert.equal(run.error.detail, `simulated ${kind}`)
    assert.ok(run.completedAt)
    const chunks = await fixture.chunks(runId)
    assert.deepEqual(
      chunks.slice(-3).map((chunk) => chunk.message_type),
      ['stop_reason', 'error_message', 'done'],
    )
    assert.deepEqual(await fixture.messages(), [], 'the conversation is unchanged')
    const [accepted] = await fixture.events(runId)
    assert.ok(accepted?.type === 'input-accepted' && accepted.inputs.length === 1, 'the input stays on the run')
  })
}

test('an internal fault ends the run with error / internal_error and is logged; the run is never left running', async (context) => {
  const broken = {
    name: 'broken',
    description: '',
    inputSchema: {},
    effects: 'once',
    parallel: false,
    needsApproval: false,
  } as const
  const fixture = await openHomeFixture(context, {
    // A tool object that breaks the executor itself.
    tools: [
      {
        ...broken,
        timeoutMs: Number.NaN,
        get outputLimit(): number {
          throw new Error('unexpected')
        },
        run: async () => success('x'),
      },
    ],
    script: scriptOf({ calls: [{ tool: 'broken', input: {} }] }, { text: 'x' }),
  })
  const run = await fixture.ask('go')
  assert.equal(run.status, 'failed')
  assert.equal(run.stopReason, 'error')
  assert.equal(run.error?.errorType, 'internal_error')
  assert.match(run.error.detail ?? '', /unexpected/)
  assert.equal(fixture.faults.length, 1)
  assertValidHistory(await fixture.messages())
})

test('a message sent again after a failed turn is stored once', async (context) => {
  let attempts = 0
  const fixture = await openHomeFixture(context, {
    script: () =>
      attempts++ === 0 ? scriptOf({ fail: { kind: 'auth-rejected', detail: 'no' } }) : scriptOf({ text: 'hi' }),
  })
  assert.equal((await fixture.ask('hello')).status, 'failed')
  assert.equal((await fixture.ask('hello')).status, 'completed')
  assert.deepEqual(
    (await fixture.messages()).map(({ body }) => body.role),
    ['user', 'assistant'],
  )
})

test('a turn that fails after its first answer keeps everything committed', async (context) => {
  const fixture = await openHomeFixture(context, {
    tools: [tool('print')],
    script: scriptOf(
      { text: 'first', calls: [{ tool: 'print', input: {} }] },
      { fail: { kind: 'auth-rejected', detail: 'revoked' } },
    ),
  })
  const run = await fixture.ask('go')
  assert.equal(run.error?.errorType, 'llm_authentication')
  assert.deepEqual(
    (await fixture.messages()).map(({ body }) => body.role),
    ['user', 'assistant', 'tool'],
  )
  assertValidHistory(await fixture.messages())
})

test('text of a failed attempt is reset in the stream and is not in the history', async (context) => {
  const clock = newVirtualClock()
  const fixture = await openHomeFixture(context, {
    clock,
    script: scriptOf({ text: 'half of it', cutAfter: 1, pace: { chunkSize: 4, delayMs: 0 } }, { text: 'the whole' }),
  })
  const runId = await fixture.send('hello')
  await clock.advance(5_000)
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  const chunks = await fixture.chunks(runId)
  const kinds = chunks.map((chunk) => chunk.message_type)
  assert.deepEqual(kinds, [
    'assistant_message',
    'message_reset',
    'attempt_failed',
    'assistant_message',
    'stop_reason',
    'usage_statistics',
    'done',
  ])
  const [abandoned, reset, , kept] = chunks
  assert.ok(
    abandoned?.message_type === 'assistant_message' &&
      reset?.message_type === 'message_reset' &&
      kept?.message_type === 'assistant_message',
  )
  assert.equal(reset.id, abandoned.id)
  assert.notEqual(kept.id, abandoned.id, 'it continues under a new message id')
  const answer = (await fixture.messages()).at(-1)
  assert.equal(answer?.id, kept.id, 'stream and history agree on ids')
  assert.deepEqual(answer.body.role === 'assistant' && answer.body.content, [{ type: 'text', text: 'the whole' }])
})

test('a failing primary fails over in the same turn, and the next turn calls the primary first', async (context) => {
  const asked: string[] = []
  const fixture = await openHomeFixture(context, {
    fallback: ['test/second'],
    script: (request) => {
      asked.push(request.model)
      return request.model === 'model'
        ? scriptOf({ fail: { kind: 'auth-rejected', detail: 'revoked' } })
        : scriptOf({ text: 'from the second' })
    },
  })
  const run = await fixture.ask('hello')
  assert.equal(run.stopReason, 'end_turn')
  const { steps } = await showRun(run.id, fixture.context)
  assert.deepEqual(
    steps.map((step) => step.target),
    ['test/second'],
    'the run records the model that answered',
  )
  await fixture.ask('again')
  assert.deepEqual(asked, ['model', 'second', 'model', 'second'])
})

test('the step limit ends the turn after the last allowed step, with its results', async (context) => {
  const fixture = await openHomeFixture(context, {
    tools: [tool('print')],
    script: () => scriptOf(...Array.from({ length: 20 }, () => ({ calls: [{ tool: 'print', input: {} }] }))),
  })
  const run = await fixture.ask('loop', { maxSteps: 3 })
  assert.equal(run.status, 'completed')
  assert.equal(run.stopReason, 'max_steps')
  assert.equal((await showRun(run.id, fixture.context)).steps.length, 3)
  assertValidHistory(await fixture.messages())
})

test('the time limit stops a model that never ends, and the run reports it', async (context) => {
  const clock = newVirtualClock()
  const fixture = await openHomeFixture(context, {
    clock,
    defaults: { maxDurationMs: 60_000 },
    script: scriptOf({ stall: true }),
  })
  const runId = await fixture.send('hello')
  await clock.advance(59_000)
  assert.equal((await fixture.get(runId)).status, 'running')
  await clock.advance(2_000)
  const run = await fixture.wait(runId)
  assert.equal(run.status, 'failed')
  assert.equal(run.error?.errorType, 'time_limit')
})

test('an unknown tool and bad arguments become error results that name the available tools', async (context) => {
  let runs = 0
  const strict = tool('strict', () => success(`${++runs}`), {
    inputSchema: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
  })
  const fixture = await openHomeFixture(context, {
    tools: [strict],
    script: scriptOf(
      {
        calls: [
          { tool: 'missing', input: {} },
          { tool: 'strict', rawJson: '{"count": ' },
          { tool: 'strict', input: { count: 'many' } },
          { tool: 'strict', input: { count: 1 } },
        ],
      },
      { text: 'done' },
    ),
  })
  const run = await fixture.ask('go')
  assert.equal(run.stopReason, 'end_turn')
  const outcomes = (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['error', 'error', 'error', 'success'],
  )
  assert.match(outcomes[0]!.output, /no tool named "missing".*Available tools: strict/)
  assert.match(outcomes[1]!.output, /not valid JSON/)
  assert.match(outcomes[2]!.output, /count/)
  assert.equal(runs, 1)
})

test('with repeated and missing call ids every call still has its own outcome', async (context) => {
  const fixture = await openHomeFixture(context, {
    tools: [tool('print')],
    script: scriptOf(
      { calls: ['same', 'same', ''].map((callId, copy) => ({ tool: 'print', input: { copy }, callId })) },
      { text: 'done' },
    ),
  })
  await fixture.ask('go')
  const outcomes = (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
  assert.equal(new Set(outcomes.map(({ callId }) => callId)).size, 3)
  assertValidHistory(await fixture.messages())
})

test('an output over the limit is truncated for the model and stored whole in a file', async (context) => {
  const { readFileSync } = await import('node:fs')
  const talkative = tool('talk', () => success('x'.repeat(500)), { outputLimit: 100 })
  const fixture = await openHomeFixture(context, {
    tools: [talkative],
    script: scriptOf({ calls: [{ tool: 'talk', input: {} }] }, { text: 'done' }),
  })
  await fixture.ask('go')
  const [outcome] = (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
  assert.match(outcome!.output, /function output was truncated: 500 characters/)
  assert.equal(readFileSync(join(fixture.home, outcome!.spill!), 'utf8').length, 500)
})

test('a tool over its timeout is aborted, and an answer it still gives is recorded', async (context) => {
  const clock = newVirtualClock()
  const started = gate()
  const slow = tool(
    'slow',
    async (_, { signal }) => {
      started.open()
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      return { status: 'error', output: 'stopped at the timeout' }
    },
    { timeoutMs: 1_000 },
  )
  const fixture = await openHomeFixture(context, {
    clock,
    tools: [slow],
    script: scriptOf({ calls: [{ tool: 'slow', input: {} }] }, { text: 'done' }),
  })
  const runId = await fixture.send('go')
  await started.promise
  await clock.advance(1_100)
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  const [outcome] = (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
  assert.equal(outcome!.output, 'stopped at the timeout')
})
