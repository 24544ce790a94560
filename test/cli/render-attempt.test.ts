import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attemptLines } from '../../src/cli/render/attempt.ts'
import { remedyText } from '../../src/cli/render/chunk.ts'
import { renderStory } from '../../src/cli/render/story.ts'
import { PLAIN } from '../../src/cli/terminal.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import type { Run, RunSettings } from '../../src/core/run.ts'
import { billOf } from '../../src/service/runs/run-bill.ts'
import type { RunLabels } from '../../src/service/runs/run-labels.ts'

const settings: RunSettings = {
  targets: ['openai/big', 'house/small'],
  maxSteps: 5,
  maxDurationMs: 1,
  streamTokens: true,
  onGuarded: 'ask',
  approvalTtlMs: 1,
}
const labels: RunLabels = {
  credential: (id) => (id === 'credential-1' ? 'work' : `${id} (removed since)`),
  price: (handle) => (handle === 'openai/big' ? { input: 1, output: 10, asOf: '2026-06-30' } : undefined),
}

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>
const failed = (more: Partial<AttemptFailed>): AttemptFailed => ({
  type: 'attempt-failed',
  v: 1,
  target: 0,
  failure: { kind: 'overloaded', detail: 'busy' },
  remedy: 'wait',
  retryAt: 0,
  ...more,
})
const rendered = (more: Partial<AttemptFailed>) => attemptLines(failed(more), { settings, words: labels }).join('\n')

const usage = { promptTokens: 1_000_000, completionTokens: 100_000 }

test('a failed attempt shows its cost, a possible charge and its cooldown', () => {
  assert.match(rendered({ usage }), /it used 1000000 \+ 100000 tokens, \$2\.0000 at the prices of 2026-06-30/)
  const uncertain = { kind: 'cut-off', detail: 'reset', mayHaveBeenAccepted: true } as const
  assert.match(rendered({ failure: uncertain }), /the provider may have charged for it anyway/)
  assert.doesNotMatch(rendered({ failure: uncertain, usage }), /may have charged/)
  const rest = { provider: 'openai', reason: 'rate-limited', detail: '', until: 0, createdAt: 0 } as const
  const ends = 'is cooling down until 1970-01-01T00:00:00.000Z'
  assert.match(
    rendered({ cooldown: { ...rest, scope: 'credential', key: 'credential-1' } }),
    new RegExp(`^work ${ends}`, 'm'),
  )
  assert.match(
    rendered({ cooldown: { ...rest, scope: 'endpoint', key: 'https://x' } }),
    new RegExp(`^the endpoint of openai ${ends}`, 'm'),
  )
})

test('a remedy shows its limits, and a wait shows whether the provider requested it', () => {
  assert.match(rendered({ remedy: 'adopt-window', window: 8_192 }), /smaller context window\. \(8192 tokens\)/)
  assert.match(rendered({ remedy: 'cap-output', outputCap: 100 }), /\(at most 100 tokens of output\)/)
  const limited = { kind: 'rate-limited', detail: 'slow', retryAfterMs: 7_000 } as const
  assert.match(rendered({ failure: limited, waitMs: 7_000 }), /Waited 7\.0 s, as the provider asked\./)
  assert.match(rendered({ credentialId: 'credential-9' }), /credential: credential-9 \(removed since\)/)
  assert.equal(remedyText('next-target', 'a/b'), 'Failing over to the next model in the chain: a/b.')
})

test('text from a provider cannot move the cursor', () => {
  const text = rendered({ failure: { kind: 'overloaded', detail: '\x1b[2J', code: '\x1b[H' } })
  assert.ok(!text.includes('\x1b'), text)
})

test('a summary shows its cost and counts as an attempt of its own chain', () => {
  const event: TurnEvent = {
    type: 'context-compacted',
    v: 1,
    summaryId: 'message-1',
    text: 'They talked.',
    target: 0,
    usage,
    replaces: { from: 0, to: 9 },
    contextStart: 10,
    tokensBefore: 9_000,
    tokensAfter: 900,
  }
  const accepted: TurnEvent = { type: 'input-accepted', v: 1, inputs: [], settings }
  const events = [accepted, failed({ purpose: 'summary' }), event]
  const logged = events.map((one, index) => ({ seq: index + 1, at: 0, event: one }))
  const run = {
    id: 'run-1',
    agentId: 'agent-1',
    conversationId: 'conv-1',
    status: 'running',
    createdAt: 0,
  } as unknown as Run
  const look = { paint: PLAIN, canRedraw: false, width: 100 }
  const story = renderStory({ run, events: logged, steps: [], messages: [] }, labels, look).join('\n')
  assert.match(story, /summary attempt failed: openai\/big, overloaded/)
  assert.match(
    story,
    /summarized messages 0 to 9: about 9000 tokens before, 900 after\n +by openai\/big: .*\$2\.0000 at/,
  )
  assert.deepEqual([billOf({ events: logged }, labels).cost, billOf({ events: logged }, labels).hasUnknown], [2, false])
})
