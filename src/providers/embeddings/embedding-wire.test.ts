import assert from 'node:assert/strict'
import { test } from 'node:test'
import { geminiEmbeddings } from '../gemini/embeddings.ts'
import { openaiEmbeddings } from '../openai/embeddings.ts'
import { readVectors } from './embedding-wire.ts'

test('vectors are ordered by their stated index', () => {
  const answer = {
    data: [
      { index: 1, embedding: [2, 2] },
      { index: 0, embedding: [1, 1] },
    ],
  }
  assert.deepEqual(readVectors(openaiEmbeddings.vectorsIn(answer), 2), [
    [1, 1],
    [2, 2],
  ])
  const gemini = { embeddings: [{ values: [1, 1] }, { values: [2, 2] }] }
  assert.deepEqual(readVectors(geminiEmbeddings.vectorsIn(gemini), 2)?.length, 2)
})

test('a response that is not one vector per text is rejected', () => {
  const bad: unknown[][] = [
    [],
    [[1, 2]],
    [[1, 2], [1]],
    [
      [1, 2],
      ['a', 'b'],
    ],
    [[], []],
    [[1, 2], null],
  ]
  for (const found of bad) assert.equal(readVectors(found, 2), undefined, JSON.stringify(found))
  for (const answer of [null, 'text', {}, { data: 'x' }, []])
    assert.equal(openaiEmbeddings.vectorsIn(answer), undefined)
})

test("requests have the format of each vendor's documentation", () => {
  const request = { model: 'near', texts: ['a', 'b'], purpose: 'question' as const }
  assert.deepEqual(openaiEmbeddings.body(request), {
    model: 'near',
    input: ['a', 'b'],
    encoding_format: 'float',
  })
  assert.equal(geminiEmbeddings.path('near'), '/v1beta/models/near:batchEmbedContents')
  assert.deepEqual(geminiEmbeddings.body({ ...request, texts: ['a'] }), {
    requests: [{ model: 'models/near', content: { parts: [{ text: 'a' }] }, taskType: 'RETRIEVAL_QUERY' }],
  })
})
