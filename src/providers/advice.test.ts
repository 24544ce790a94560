import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDING_OF_FAILURE, type FailureKind } from '../core/failure.ts'
import { adviceFor } from './advice.ts'

const KINDS = Object.keys(ENDING_OF_FAILURE) as FailureKind[]
const PROVIDERS = ['openai', 'anthropic', 'gemini', 'openrouter', 'nous', 'copilot', 'codex', 'ollama', 'my-proxy']

test('there is advice of one or two sentences for every kind at every provider, known or not', () => {
  for (const provider of PROVIDERS) {
    for (const kind of KINDS) {
      const advice = adviceFor({ provider, kind })
      assert.match(advice, /^[A-Z].{20,300}[.]$/, `${provider} ${kind}: ${advice}`)
      assert.ok((advice.match(/[.:](?= [A-Z])/g) ?? []).length <= 1, advice)
      assert.doesNotMatch(advice, /undefined|https?:|\[object/, advice)
    }
  }
})

test('commands name the provider as the configuration does, sentences as people do', () => {
  const advice = adviceFor({ provider: 'my-proxy', label: 'My Proxy', kind: 'rate-limited' })
  assert.match(advice, /`holdfast providers clear my-proxy`/)
  assert.match(advice, /My Proxy/)
})

test('a rejected key names the variable it came from and how to try again', () => {
  const advice = adviceFor({ provider: 'openai', kind: 'auth-rejected', keyVariable: 'OPENAI_API_KEY' })
  assert.match(advice, /OPENAI_API_KEY/)
  assert.match(advice, /"API keys"/)
  assert.match(advice, /`holdfast auth refresh openai`/)
  assert.match(advice, /`holdfast providers test openai`/)
})

test('where people sign in nobody is sent to look for a key', () => {
  for (const provider of ['codex', 'copilot', 'nous']) {
    const advice = adviceFor({ provider, kind: 'auth-rejected' })
    assert.match(advice, /Sign in/)
    assert.doesNotMatch(advice, /\bkey\b/)
  }
})

test('a local server is started, not paid', () => {
  assert.match(adviceFor({ provider: 'ollama', kind: 'unreachable' }), /Start the Ollama server/)
  assert.doesNotMatch(adviceFor({ provider: 'ollama', kind: 'quota-exhausted' }), /credit/)
})

test('an empty account sends to its billing page and clears the rest', () => {
  const advice = adviceFor({ provider: 'openrouter', kind: 'quota-exhausted' })
  assert.match(advice, /"Credits"/)
  assert.match(advice, /`holdfast providers clear openrouter`/)
})
