import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from '../core/answer.ts'
import type { ModelProvider, ModelRequest } from '../ports/model.ts'
import { newLazyProvider } from './lazy-provider.ts'

const request: ModelRequest = { model: 'any', system: '', messages: [], tools: [] }
const partsOf = async (provider: ModelProvider): Promise<Part[]> => {
  const parts: Part[] = []
  for await (const part of provider.stream(request, { signal: new AbortController().signal })) parts.push(part)
  return parts
}

test('a provider whose code fails to load is loaded again with the next request', async () => {
  const hello: Part = { type: 'text-delta', text: 'hello' }
  const endpoint = { baseUrl: 'http://127.0.0.1', isAggregator: false }
  let loads = 0
  const provider = newLazyProvider({ endpoint }, async () => {
    if (loads++ === 0) throw new Error('too many open files')
    return {
      endpoint,
      async *stream() {
        yield hello
      },
    }
  })
  await assert.rejects(partsOf(provider), /too many open files/)
  assert.deepEqual(await partsOf(provider), [hello])
  assert.deepEqual(await partsOf(provider), [hello])
  assert.equal(loads, 2)
})
