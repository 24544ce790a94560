import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDING_OF_FAILURE, type FailureKind } from '../core/failure.ts'
import { adviceFor, missingKeyAdvice } from './advice.ts'

const KINDS = Object.keys(ENDING_OF_FAILURE) as FailureKind[]
const PROVIDERS = ['openai', 'anthropic', 'gemini', 'openrouter', 'nous', 'copilot', 'codex', 'ollama', 'my-proxy']

test('every failure kind has advice of one or two sentences for every provider, known or not', () => {
  for (const provider of PROVIDERS) {
    for (const kind of KINDS) {
      const advice = adviceFor({ provider, kind })
      assert.match(advice, /^[A-Z].{20,300}[.]$/, `${provider} ${kind}: ${advice}`)
      assert.ok((advice.match(/[.:](?= [A-Z])/g) ?? []).length <= 1, advice)
      assert.doesNotMatch(advice, /undefined|https?:|\[object/, advice)
    }
  }
})

test('every command in the advice exists, with the name of the provider as its argument', () => {
  const commands =
    /^(auth (add|refresh)|providers (test|clear)) [a-z-]+( --device)?$|^(models|providers|runs show|limits|limits set)$/
  for (const provider of PROVIDERS) {
    const all = [...KINDS.map((kind) => adviceFor({ provider, kind })), missingKeyAdvice(provider, ['A_KEY'])]
    for (const [, command = ''] of all.join(' ').matchAll(/`holdfast ([^`]+)`/g)) assert.match(command, commands)
  }
})

test('the advice for a missing key says where to set one and where to get one', () => {
  assert.equal(
    missingKeyAdvice('anthropic', ['ANTHROPIC_API_KEY']),
    'Set ANTHROPIC_API_KEY, or run `holdfast auth add anthropic`. You get a key under "API keys" in the Claude Console.',
  )
  assert.equal(missingKeyAdvice('codex', []), 'Run `holdfast auth add codex --device`.')
  assert.equal(missingKeyAdvice('my-proxy', ['X']), 'Set X, or run `holdfast auth add my-proxy`.')
})

test('commands use the configured name of the provider, sentences its display name', () => {
  const advice = adviceFor({ provider: 'my-proxy', label: 'My Proxy', kind: 'rate-limited' })
  assert.match(advice, /`holdfast providers clear my-proxy`/)
  assert.match(advice, /My Proxy/)
})

test('the advice for a rejected key names its variable and how to try again', () => {
  const advice = adviceFor({ provider: 'openai', kind: 'auth-rejected', keyVariable: 'OPENAI_API_KEY' })
  assert.match(advice, /OPENAI_API_KEY/)
  assert.match(advice, /"API keys"/)
  assert.match(advice, /`holdfast auth refresh openai`/)
  assert.match(advice, /`holdfast providers test openai`/)
})

test('the advice for a provider with a sign-in does not mention a key', () => {
  for (const provider of ['codex', 'copilot', 'nous']) {
    const advice = adviceFor({ provider, kind: 'auth-rejected' })
    assert.match(advice, /Sign in/)
    assert.doesNotMatch(advice, /\bkey\b/)
  }
})

test('the advice for a local server is to start it, not to add credit', () => {
  assert.match(adviceFor({ provider: 'ollama', kind: 'unreachable' }), /Start the Ollama server/)
  assert.doesNotMatch(adviceFor({ provider: 'ollama', kind: 'quota-exhausted' }), /credit/)
})

test('the advice for an exhausted quota names the billing page and the command that clears the cooldown', () => {
  const advice = adviceFor({ provider: 'openrouter', kind: 'quota-exhausted' })
  assert.match(advice, /"Credits"/)
  assert.match(advice, /`holdfast providers clear openrouter`/)
})
