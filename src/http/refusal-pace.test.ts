import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MOST_WAITING, newRefusalPace, PROMPT } from './refusal-pace.ts'

/** A pace whose time stands still, and what became of each refusal. */
function pacedAt(now: () => number) {
  const pace = newRefusalPace(now)
  const ends: string[] = []
  const refuse = (caller: string) =>
    pace.refuse(caller, { send: () => ends.push(`${caller} answered`), end: () => ends.push(`${caller} closed`) })
  return { pace, ends, refuse }
}

test('a client that ignores 429 waits for its refusals, then loses its connections, and others are refused at once', () => {
  const { pace, ends, refuse } = pacedAt(() => 0)
  for (let count = 0; count < PROMPT.burst; count++) refuse('flood')
  assert.equal(ends.length, PROMPT.burst)
  for (let count = 0; count < MOST_WAITING; count++) refuse('flood')
  assert.equal(ends.length, PROMPT.burst)
  refuse('flood')
  assert.equal(ends.at(-1), 'flood closed')
  refuse('other')
  assert.equal(ends.at(-1), 'other answered')
  pace.close()
  assert.equal(ends.filter((end) => end === 'flood closed').length, MOST_WAITING + 1)
})

test('waiting refusals are answered in order at their rate, and those of clients that left take nothing', async () => {
  let now = 0
  const { pace, ends, refuse } = pacedAt(() => now)
  for (let count = 0; count < PROMPT.burst; count++) refuse('flood')
  const takeBack = refuse('flood')
  refuse('flood')
  takeBack()
  ends.length = 0
  now = 60_000
  while (ends.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(ends, ['flood answered'])
  refuse('flood')
  assert.equal(ends.length, 2)
  pace.close()
})
