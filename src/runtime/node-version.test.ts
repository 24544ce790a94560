import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { unsupportedNode } from './node-version.ts'

test('Node.js 22 from 22.16 on and everything from 24 on is supported', () => {
  for (const version of ['22.16.0', '22.23.3', '24.0.0', '24.21.0', '26.1.0', '25.0.0-nightly'])
    assert.equal(unsupportedNode(version), undefined, version)
})

test('an older Node.js is refused with one sentence that names both versions', () => {
  for (const version of ['18.20.8', '20.20.2', '22.15.1', '23.11.1'])
    assert.equal(
      unsupportedNode(version),
      `Holdfast needs Node.js 22.16 or later (not 23); this is ${version}. Install a newer one from https://nodejs.org.`,
    )
})

test('package.json names the versions that are supported', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  assert.equal((JSON.parse(manifest) as { engines: { node: string } }).engines.node, '^22.16.0 || >=24.0.0')
})
