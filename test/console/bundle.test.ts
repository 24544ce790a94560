import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { bundleConsole } from '../../console/bundle.ts'

test('all files of the console have at most 80 KB compressed', async () => {
  const { files } = await bundleConsole()
  const bytes = Object.values(files).reduce((sum, text) => sum + gzipSync(text).length, 0)
  assert.ok(bytes <= 80 * 1_024, `${bytes} bytes`)
})
