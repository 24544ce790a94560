import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findVendor, VENDORS } from './vendors.ts'

test('every documented vendor is in the table, once', () => {
  const names = VENDORS.map((vendor) => vendor.name)
  assert.deepEqual(
    [...names].sort(),
    [
      'anthropic',
      'azure',
      'codex',
      'copilot',
      'custom',
      'deepseek',
      'gemini',
      'groq',
      'llamacpp',
      'lmstudio',
      'mistral',
      'nous',
      'ollama',
      'openai',
      'openai-responses',
      'openrouter',
      'together',
      'vllm',
      'xai',
      'zai',
    ].sort(),
  )
  for (const name of names) assert.equal(findVendor(name)?.name, name)
  assert.equal(findVendor('nobody'), undefined)
})

test('only self-hosted vendors have no base URL, and every base URL is complete', () => {
  for (const { name, baseUrl } of VENDORS) {
    if (baseUrl === undefined) assert.ok(['azure', 'custom'].includes(name), name)
    else assert.match(new URL(baseUrl).href, /^https:\/\/|^http:\/\/127\.0\.0\.1:/)
  }
})

test('the environment variables of the official tools are supported', () => {
  const variables = (name: string) => [findVendor(name)!.baseUrlVariable, ...findVendor(name)!.keyVariables]
  assert.deepEqual(variables('openai'), ['OPENAI_BASE_URL', 'OPENAI_API_KEY'])
  assert.deepEqual(variables('openai-responses'), ['OPENAI_BASE_URL', 'OPENAI_API_KEY'])
  assert.deepEqual(variables('anthropic'), ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY'])
  assert.deepEqual(variables('gemini'), ['GEMINI_BASE_URL', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'])
  assert.deepEqual(variables('ollama'), ['OLLAMA_BASE_URL', 'OLLAMA_API_KEY'])
})

test('the aggregators are OpenRouter and Nous', () => {
  const aggregators = VENDORS.filter((vendor) => vendor.isAggregator).map((vendor) => vendor.name)
  assert.deepEqual(aggregators, ['openrouter', 'nous'])
})
