import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { differencesOf } from './compare.ts'
import { corpus } from './corpus.ts'
import { readRecording, recordAnswers } from './recording.ts'

const COMMAND = process.env.HOLDFAST_COMMAND ?? fileURLToPath(new URL('../../../src/main.ts', import.meta.url))

/** Record intended changes with `npm exec -- node test/http/recorded/record.ts test/http/recorded/answers.json`. */
test('every route answers every request of the corpus as it was recorded', async () => {
  const requests = corpus()
  const before = readRecording(new URL('answers.json', import.meta.url))
  const after = await recordAnswers(COMMAND, requests)
  assert.equal(differencesOf(before, after, requests).join('\n\n'), '')
})
