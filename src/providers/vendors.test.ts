import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findVendor, VENDORS } from './vendors.ts'

test('every vendor of the documentation is there, once', () => {
  const names = VENDORS.map((vendor) => vendor.name)
  assert.deepEqual(
    [...names].sort(),
    [
      'anthropic',
      'azure',
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
    ].sort(),
  )
  for (const name of names) assert.equal(findVendor(name)?.name, name)
  assert.equal(findVendor('nobody'), undefined)
})

test('only what everybody hosts for themselves has no address, and every address is whole', () => {
  for (const { name, baseUrl } of VENDORS) {
    if (baseUrl === undefined) assert.ok(['azure', 'custom'].includes(name), name)
    else assert.match(new URL(baseUrl).href, /^https:\/\/|^http:\/\/127\.0\.0\.1:/)
  }
})

test('the advice of each vendor names a variable or a setting that is really its own', () => {
  for (const { name, advice, keyVariables, baseUrlVariable } of VENDORS)
    assert.ok(
      [...keyVariables, baseUrlVariable].some((variable) => advice.includes(variable)),
      name,
    )
  assert.equal(findVendor('openai')?.advice, 'check OPENAI_API_KEY, or run `holdfast auth add openai`')
})

test('the environment of the official tools is understood as it is', () => {
  const variables = (name: string) => [findVendor(name)!.baseUrlVariable, ...findVendor(name)!.keyVariables]
  assert.deepEqual(variables('openai'), ['OPENAI_BASE_URL', 'OPENAI_API_KEY'])
  assert.deepEqual(variables('openai-responses'), ['OPENAI_BASE_URL', 'OPENAI_API_KEY'])
  assert.deepEqual(variables('anthropic'), ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY'])
  assert.deepEqual(variables('gemini'), ['GEMINI_BASE_URL', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'])
  assert.deepEqual(variables('ollama'), ['OLLAMA_BASE_URL', 'OLLAMA_API_KEY'])
})

test('only aggregators pool and retry by themselves', () => {
  const aggregators = VENDORS.filter((vendor) => vendor.isAggregator).map((vendor) => vendor.name)
  assert.deepEqual(aggregators, ['openrouter', 'nous'])
})
