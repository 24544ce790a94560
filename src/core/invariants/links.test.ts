import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAcrossRuns } from './all.ts'
import { newRunLinks } from './links.ts'
import type { RunSummary } from './record.ts'

const settled = (id: RunSummary['id'], more: Partial<RunSummary> = {}): RunSummary => ({
  id,
  conversationId: 'conv-1',
  phase: 'settled',
  inputs: [],
  ...more,
})
const decisions = [{ callId: 'c1', verdict: 'approve' as const, digest: 'd' }]
const answered = (continuedBy: RunSummary['id']) => ({ answered: { continuedBy, decisions, unread: [] } })
const inherited = (from: RunSummary['id']) => ({ inherited: { from, decisions } })

function left(...runs: RunSummary[]): RunSummary[] {
  const links = newRunLinks()
  for (const run of runs) links.add(run)
  return links.unresolved()
}

test('settled runs without a link are never kept, and a chain of answered runs is dropped link by link', () => {
  const chain = [
    settled('run-0'),
    settled('run-1', answered('run-2')),
    settled('run-2', { ...inherited('run-1'), ...answered('run-3') }),
    settled('run-3', inherited('run-2')),
  ]
  assert.deepEqual(left(...chain), [])
  assert.deepEqual(left(...chain.toReversed()), [])
})

test('a run that is still running after its approval is kept without the link and is not a violation', () => {
  const heir = settled('run-2', { ...inherited('run-1'), phase: 'running', inputs: ['message-1'] })
  const kept = left(settled('run-1', { ...answered('run-2'), inputs: ['message-1'] }), heir)
  assert.deepEqual(
    kept.map(({ id }) => id),
    ['run-2'],
  )
  assert.deepEqual(checkAcrossRuns({ runs: kept }), [])
})

test('linked runs that do not agree are kept and reported', () => {
  const lost = left(settled('run-1', answered('run-2')))
  assert.equal(checkAcrossRuns({ runs: lost }).length, 1)
  const other = { from: 'run-1' as const, decisions: [] }
  const unfaithful = left(settled('run-1', answered('run-2')), settled('run-2', { inherited: other }))
  assert.equal(checkAcrossRuns({ runs: unfaithful }).length, 1)
  const invented = left(settled('run-2', inherited('run-1')))
  assert.equal(checkAcrossRuns({ runs: invented }).length, 1)
})

const moved = (...to: RunSummary['id'][]): Partial<RunSummary> => ({
  inputs: to.map((id) => `message-${id}` as const),
  moved: to.map((id) => ({ to: id, inputs: [`message-${id}` as const] })),
})

test('a run whose steers were moved is dropped once every run that they got is known, also in a chain', () => {
  const chain = [
    settled('run-1', moved('run-2', 'run-3')),
    settled('run-2', { inputs: ['message-run-2'] }),
    settled('run-3', { ...moved('run-4'), inputs: ['message-run-3', 'message-run-4'] }),
    settled('run-4', { inputs: ['message-run-4'] }),
  ]
  assert.deepEqual(left(...chain), [])
  assert.deepEqual(checkAcrossRuns({ runs: chain }), [])
  const waits = left(chain[0]!, { ...chain[1]!, phase: 'running' })
  assert.deepEqual(
    waits.map(({ id, moved: open }) => [id, open?.map(({ to }) => to)]),
    [
      ['run-1', ['run-3']],
      ['run-2', undefined],
    ],
  )
})

test('I29: a steer whose run is missing, or has another input, is kept and reported', () => {
  const source = settled('run-1', moved('run-2'))
  const reported = (...runs: RunSummary[]) => checkAcrossRuns({ runs: left(...runs) }).map(({ invariant }) => invariant)
  assert.deepEqual(reported(source), ['I29'])
  assert.deepEqual(reported(source, settled('run-2', { inputs: ['message-other'] })), ['I29'])
  assert.deepEqual(reported(source, settled('run-2', { inputs: ['message-run-2'] })), [])
})
