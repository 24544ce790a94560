import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const HEAVY = ['yaml', 'zod/mini']

test('neither the YAML parser nor zod is loaded before there is something to check', async (context) => {
  const loaded = new Set<string>()
  const hooks = registerHooks({
    resolve(specifier, resolving, next) {
      loaded.add(specifier)
      return next(specifier, resolving)
    },
  })
  context.after(() => hooks.deregister())
  const { readConfiguration } = await import('./configuration.ts')
  const environment = { HOLDFAST_HOME: join(tmpdir(), 'holdfast-home-that-does-not-exist'), HOLDFAST_API_KEY: 'x' }
  await readConfiguration(environment)
  assert.ok(loaded.has('./configuration.ts'))
  assert.deepEqual(
    HEAVY.filter((name) => loaded.has(name)),
    [],
  )
  await readConfiguration({ ...environment, HOLDFAST_MAX_STEPS: '5' })
  assert.deepEqual(
    HEAVY.filter((name) => loaded.has(name)),
    ['zod/mini'],
  )
})
