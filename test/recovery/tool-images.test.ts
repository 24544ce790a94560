import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from '../harness/tools.ts'
import { assertAnswered, bodyText, exchange, openRecoveryFixture } from './fixture-recovery.ts'

const DOT = {
  type: 'image' as const,
  source: { mediaType: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' },
}

test('images of a tool result reach the model, also beside a truncated output', async (context) => {
  const camera = tool('camera', () => ({ status: 'success', output: 'a long description', images: [DOT] }), {
    outputLimit: 6,
  })
  const setup = await openRecoveryFixture(context, {
    chain: ['anthropic/claude-sonnet-4-5'],
    tools: [camera],
    script: [
      { when: { hasToolImages: true }, answer: { text: 'I see it.' } },
      { answer: { calls: [{ id: 'c1', name: 'camera' }] } },
    ],
  })
  const turn = await exchange(setup, 'look')
  assertAnswered(turn, 'I see it.', [])
  assert.ok(bodyText(turn.sent[1]).includes(DOT.source.data))
})
