import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defined } from '../../src/core/defined.ts'
import type { FailureKind } from '../../src/core/failure.ts'
import { check } from '../../src/core/invariants/all.ts'
import type { RunRecord } from '../../src/core/invariants/record.ts'
import { LADDER } from '../../src/core/recovery.ts'
import { isSettled } from '../../src/core/run.ts'
import type { Turn } from '../../src/core/turn.ts'
import { caseCount } from '../harness/case-count.ts'
import {
  afterDeath,
  type Disturbance,
  driveToEnd,
  firstState,
  type ModelMove,
  type PersonMove,
  type Script,
  type ScriptedCall,
  type State,
  type ToolMove,
} from './turn-driver.ts'

const CASES = Number(process.env.PROPERTY_CASES ?? caseCount(5_000))

test('every prefix of every turn is sound, and after a crash at any commit the turn reaches a legal end', () => {
  const reached = new Map<string, number>()
  const property = fc.property(scripts(), (script) => {
    const states = [firstState(script), ...driveToEnd(firstState(script), script)]
    for (const state of states) assertSound(state)
    assertOver(states.at(-1)!)
    // The first life was checked above; each cut starts a second one.
    for (const state of states) {
      const rest = driveToEnd(afterDeath(state), script)
      for (const later of rest) assertSound(later)
      const end = rest.at(-1) ?? state
      assertOver(end)
      noteReached(end, reached)
    }
  })
  fc.assert(property, { numRuns: CASES, ...defined({ seed: process.env.SEED ? Number(process.env.SEED) : undefined }) })
  // A generator that never reaches a situation proves nothing about it.
  for (const situation of Object.keys(SITUATIONS))
    assert.ok((reached.get(situation) ?? 0) > 0, `no case reached: ${situation}`)
})

function assertSound(state: State): void {
  const violations = check(recordsOf(state))
  if (violations.length > 0) assert.fail(`${describeViolations(violations)}\n${logOf(state)}`)
}

function assertOver(state: State): void {
  const last = state.runs.at(-1)!.run
  if (!isSettled(last)) assert.fail(`${last.id} is ${last.status}\n${logOf(state)}`)
}

function recordsOf({ runs, messages }: State): Parameters<typeof check>[0] {
  const records: RunRecord[] = runs.map(({ run, events }) => ({
    run,
    events,
    messages: messages.filter((message) => message.runId === run.id),
  }))
  const { organizationId, agentId, conversationId: id } = runs[0]!.run
  const position = { createdAt: 0, contextStart: 0, nextPosition: messages.length }
  const conversation = { id, organizationId, agentId, isDefault: true, ...position }
  return { runs: records, conversations: [{ conversation, messages }] }
}

const describeViolations = (violations: ReturnType<typeof check>): string =>
  violations.map(({ invariant, where, detail }) => `${invariant} ${where}: ${detail}`).join('\n')

const logOf = ({ runs }: State): string =>
  runs
    .flatMap(({ run, events }) => [run.id, ...events.map(({ seq, event }) => ` ${seq} ${JSON.stringify(event)}`)])
    .join('\n')

const SITUATIONS: Record<string, (turn: Turn, types: string[]) => boolean> = {
  'a call that was lost': ({ step }) => step?.calls.some((call) => call.outcome?.status === 'unknown') ?? false,
  'a call denied by a cancel': ({ step, cancel }) =>
    cancel?.cause === 'person' && (step?.calls.some((call) => call.outcome?.status === 'denied') ?? false),
  'a call that started twice': (_, types) => types.filter((type) => type === 'tool-started').length > 1,
  'an answer after the cancel': (_, types) =>
    types.indexOf('answer-received', types.indexOf('cancel-requested') + 1) > 0,
  'a cut answer': (_, types) => types.includes('answer-cut'),
  'an approval that was answered': ({ continuedBy }) => continuedBy !== undefined,
  'an approval that expired': ({ cancel }) => cancel?.cause === 'expiry',
  'a time limit': ({ ended }) => ended?.error?.errorType === 'time_limit',
  'three deaths': ({ ended }) => ended?.error?.errorType === 'worker_lost',
  'an internal fault': ({ ended }) => ended?.error?.errorType === 'internal_error',
  'a run cancelled in the queue': ({ cancel, step, steps }) =>
    cancel !== undefined && step !== undefined && steps === 0,
  'a fallback': ({ attempts, steps }) => attempts.answer.target > 0 && steps > 0,
  'an exhausted ladder': ({ gaveUp }) => gaveUp !== undefined,
  'the step limit': ({ ended }) => ended?.stopReason === 'max_steps',
  'the output limit': ({ ended }) => ended?.stopReason === 'max_tokens_exceeded',
  'an input that was steered in': (_, types) => types.includes('input-steered'),
}

function noteReached({ runs }: State, reached: Map<string, number>): void {
  for (const { turn, events } of runs) {
    const types = events.map(({ event }) => event.type)
    for (const [situation, isReached] of Object.entries(SITUATIONS))
      if (isReached(turn, types)) reached.set(situation, (reached.get(situation) ?? 0) + 1)
  }
}

function scripts(): fc.Arbitrary<Script> {
  return fc.record({
    settings: fc.record({
      targets: fc.constantFrom<Script['settings']['targets']>(['a/1'], ['a/1', 'b/2'], ['a/1', 'b/2', 'c/3']),
      maxSteps: fc.constantFrom(2, 3, 50),
      maxDurationMs: fc.constant(60_000),
      streamTokens: fc.constant(true),
      onGuarded: fc.constantFrom('ask', 'ask', 'deny'),
      approvalTtlMs: fc.constant(1_000),
    }),
    model: fc.array(modelMoves(), { minLength: 1, maxLength: 5 }),
    tools: fc.array(toolMoves(), { maxLength: 8 }),
    commits: fc.array(disturbances(), { maxLength: 12 }),
    people: fc.array(peopleMoves(), { minLength: 1, maxLength: 3 }),
  })
}

function modelMoves(): fc.Arbitrary<ModelMove> {
  const calls = fc.array(scriptedCalls(), { maxLength: 4 })
  const kinds = Object.keys(LADDER) as FailureKind[]
  return fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ type: fc.constant('answer'), calls, finish: fc.constantFrom('stop', 'length') }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant('failure'),
        failure: fc.record({ kind: fc.constantFrom(...kinds), detail: fc.constant('it broke') }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('answer-under-cancel'), calls }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('cut-by-cancel'), hasText: fc.boolean() }) },
  ) as fc.Arbitrary<ModelMove>
}

const scriptedCalls = (): fc.Arbitrary<ScriptedCall> =>
  fc.record({
    needsApproval: fc.constantFrom(false, false, false, true),
    effects: fc.constantFrom('none', 'idempotent', 'verifiable', 'once'),
    parallel: fc.constantFrom(true, true, false),
    isRefused: fc.constantFrom(false, false, false, false, true),
  })

const toolMoves = (): fc.Arbitrary<ToolMove> =>
  fc.record({
    which: fc.nat(3),
    status: fc.constantFrom('success', 'error'),
    verified: fc.constantFrom('done', 'not-done', 'unknown'),
  })

const disturbances = (): fc.Arbitrary<Disturbance> =>
  fc.oneof(
    { weight: 10, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom('cancel-first' as const, 'time-limit-first' as const) },
    { weight: 2, arbitrary: fc.constant('steer-first' as const) },
    { weight: 3, arbitrary: fc.constantFrom('death-before' as const, 'death-after' as const) },
    { weight: 1, arbitrary: fc.constant('three-deaths-before' as const) },
    { weight: 2, arbitrary: fc.constant('handed-back' as const) },
    { weight: 1, arbitrary: fc.constant('fault' as const) },
  )

const peopleMoves = (): fc.Arbitrary<PersonMove> =>
  fc.constantFrom(
    'approve',
    'approve',
    'deny',
    'result',
    'mixed',
    'approve-with-follow-up',
    'approve-then-cancel',
    'cancel',
    'expire',
  )
