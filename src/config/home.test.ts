import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Problem } from '../core/problem.ts'
import { homePath, openHome } from './home.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-home-'))
after(() => rmSync(folder, { recursive: true }))

const problemOf = (work: () => unknown): Problem => {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Problem)
    return error
  }
  assert.fail('there was no problem')
}

test('the default home is .holdfast in the folder of the user', () => {
  assert.equal(homePath(undefined, '/home/ada'), '/home/ada/.holdfast')
  assert.equal(homePath('', '/home/ada'), '/home/ada/.holdfast')
})

test('a tilde that no shell expanded means the folder of the user', () => {
  assert.equal(homePath('~/agents', '/home/ada'), '/home/ada/agents')
  assert.equal(homePath('/srv/~x', '/home/ada'), '/srv/~x')
})

test('a missing home is created with access for its owner only, and can be opened again', () => {
  const home = join(folder, 'deep', 'home')
  assert.equal(openHome(home), home)
  assert.equal(statSync(home).mode & 0o777, 0o700)
  assert.equal(openHome(home), home)
})

test('a home that is a file, or is below one, is refused with a way out', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below')]) {
    const problem = problemOf(() => openHome(path))
    assert.equal(problem.kind, 'invalid')
    assert.ok(problem.message.includes(path))
    assert.match(problem.message, /is a file.*set HOLDFAST_HOME/)
  }
})

test('a home that cannot be created is reported with its path, the reason and a way out', {
  skip: process.platform !== 'linux',
}, () => {
  const problem = problemOf(() => openHome('/proc/holdfast'))
  assert.equal(problem.kind, 'unavailable')
  assert.match(problem.message, /\/proc\/holdfast cannot be used: .*Make it writable/)
})
