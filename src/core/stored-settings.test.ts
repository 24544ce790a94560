import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ModelSettings, modelSettingsOf } from './model-settings.ts'
import { storedSettings } from './stored-settings.ts'

const SCHEMA = { type: 'object', properties: {} }

test('every setting of a program is read again as it was given', () => {
  const all: Required<ModelSettings> = {
    temperature: 0.5,
    topP: 0.25,
    maxOutputTokens: 100,
    parallelToolCalls: false,
    effort: 'high',
    thinkingBudget: 2_000,
    responseFormat: { type: 'json-schema', name: 'place', schema: SCHEMA, strict: true, description: 'Where.' },
    strictTools: true,
    verbosity: 'low',
    frequencyPenalty: -1,
  }
  const read = (settings: ModelSettings) =>
    modelSettingsOf({ settings: { wire: { model_settings: storedSettings(settings) } } })
  assert.deepEqual(read(all), all)
  for (const type of ['text', 'json'] as const)
    assert.deepEqual(read({ responseFormat: { type } }), { responseFormat: { type } })
  assert.equal(read({}), undefined)
})

test('a setting that would have no effect is refused with its name and value', () => {
  const bad: [object, RegExp][] = [
    [{ temperature: 3 }, /modelSettings\.temperature: 3/],
    [{ maxOutputTokens: 1.5 }, /modelSettings\.maxOutputTokens/],
    [{ effort: 'extreme' }, /modelSettings\.effort: "extreme"/],
    [{ thinkingBudget: -1 }, /modelSettings\.thinkingBudget/],
    [{ responseFormat: { type: 'yaml' } }, /modelSettings\.responseFormat/],
    [{ temprature: 1 }, /modelSettings\.temprature: 1/],
    [{ toString: 1 }, /modelSettings\.toString/],
  ]
  for (const [settings, message] of bad) assert.throws(() => storedSettings(settings as ModelSettings), message)
})
