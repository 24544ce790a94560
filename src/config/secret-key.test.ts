import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Problem } from '../core/problem.ts'
import { openSecretKeys } from './secret-key.ts'

function newHome(context: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-key-'))
  context.after(() => rmSync(home, { recursive: true }))
  return { home, file: join(home, 'secret.key') }
}

const problemIs = (kind: Problem['kind'], words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Problem)
  assert.equal(error.kind, kind)
  assert.match(error.message, words)
  return true
}

test('a sealed secret can be opened, also in another process, and only in its context', (context) => {
  const { home } = newHome(context)
  const { box } = openSecretKeys(home)
  const sealed = box.seal('sk-ünïcode', 'credential-a')
  assert.equal(openSecretKeys(home).box.open(sealed, 'credential-a'), 'sk-ünïcode')
  assert.equal(box.open(sealed, 'credential-b'), undefined)
  assert.ok(!sealed.includes('sk-'))
  assert.notEqual(box.seal('sk-ünïcode', 'credential-a'), sealed)
})

test('a changed, truncated or foreign text cannot be opened', (context) => {
  const { box } = openSecretKeys(newHome(context).home)
  const sealed = box.seal('secret', 'x')
  const foreign = openSecretKeys(newHome(context).home).box.seal('secret', 'x')
  const last = sealed.at(-1) === 'A' ? 'Q' : 'A'
  const texts = [
    sealed.slice(0, -1) + last,
    sealed.slice(0, -12),
    sealed.replace('v1', 'v2'),
    foreign,
    '',
    'v1',
    'secret',
  ]
  for (const text of texts) assert.equal(box.open(text, 'x'), undefined, text)
})

test('the key file is created by the first seal, with access for its owner only, and not by an open', (context) => {
  const { home, file } = newHome(context)
  const { box } = openSecretKeys(home)
  assert.equal(box.open('v1.abc.def', 'x'), undefined)
  assert.equal(existsSync(file), false)
  box.seal('secret', 'x')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(home), ['secret.key'])
})

test('a key file that other users can read is refused with a way out', {
  skip: process.platform === 'win32',
}, (context) => {
  const { home, file } = newHome(context)
  const { box } = openSecretKeys(home)
  const sealed = box.seal('secret', 'x')
  chmodSync(file, 0o640)
  const refused = problemIs('invalid', /can be read by other users.*chmod 600/s)
  assert.throws(() => box.open(sealed, 'x'), refused)
  assert.throws(() => openSecretKeys(home).box.seal('secret', 'x'), refused)
  chmodSync(file, 0o600)
  assert.equal(box.open(sealed, 'x'), 'secret')
})

test('a damaged key file is refused and left unchanged, and its key is in no message', (context) => {
  const { home, file } = newHome(context)
  openSecretKeys(home).box.seal('secret', 'x')
  const whole = readFileSync(file, 'utf8')
  const key = whole.trim().split(' ')[1]!
  for (const text of [
    '',
    '\n',
    whole.slice(0, -10),
    whole.replace(key[5]!, key[5] === 'A' ? 'B' : 'A'),
    'nonsense\n',
  ]) {
    writeFileSync(file, text)
    assert.throws(
      () => openSecretKeys(home).box.seal('secret', 'x'),
      (error) => {
        assert.ok(!(error as Error).message.includes(key.slice(0, 8)))
        return problemIs('invalid', /damaged.*Restore it from a backup/s)(error)
      },
    )
    assert.equal(readFileSync(file, 'utf8'), text)
  }
})

test('a rotation by another process takes effect at once: the new key seals, the old one still opens', (context) => {
  const { home } = newHome(context)
  const running = openSecretKeys(home)
  const before = running.box.seal('secret', 'x')
  const rotating = openSecretKeys(home)
  const old = rotating.addKey()
  assert.equal(running.isCurrent(before), false)
  const after = running.box.seal('secret', 'x')
  assert.equal(rotating.isCurrent(after), true)
  assert.equal(running.box.open(before, 'x'), 'secret')
  rotating.dropKeys(old)
  assert.equal(running.box.open(before, 'x'), undefined)
  assert.equal(running.box.open(after, 'x'), 'secret')
})

test('the current key is never dropped', (context) => {
  const { home } = newHome(context)
  const keys = openSecretKeys(home)
  const sealed = keys.box.seal('secret', 'x')
  keys.dropKeys([sealed.split('.')[1]!])
  assert.equal(keys.box.open(sealed, 'x'), 'secret')
})
