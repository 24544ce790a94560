import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileSpill } from './file-spill.ts'

const home = mkdtempSync(join(tmpdir(), 'holdfast-spill-'))
after(() => rmSync(home, { recursive: true }))
const spill = fileSpill(home).of('agent-1')

test('a whole output is stored under the id of its call', async () => {
  const place = await spill.save('call-1', 'long output')
  assert.equal(place, 'spill/agent-1/call-1.txt', 'it does not tell where the home is')
  assert.equal(readFileSync(join(home, place), 'utf8'), 'long output')
  assert.equal(await spill.save('call-1', 'long output'), place, 'saving it again changes nothing')
})

test('another output with the same call id does not replace the first', async () => {
  const first = await spill.save('call-2', 'first')
  const second = await spill.save('call-2', 'second')
  assert.equal(readFileSync(join(home, first), 'utf8'), 'first')
  assert.equal(readFileSync(join(home, second), 'utf8'), 'second')
})

test('no call id leads out of the spill folder, and no two ids share a file', async () => {
  const ids = ['../../etc/passwd', '../../etc_passwd', '', '.', '..', 'a/b', 'a\\b', 'a\0b', 'x'.repeat(5_000), 'é']
  const places = await Promise.all(ids.map((id) => spill.save(id, `output of ${id}`)))
  assert.equal(new Set(places).size, ids.length)
  for (const [index, place] of places.entries()) {
    assert.equal(dirname(place), 'spill/agent-1')
    assert.equal(readFileSync(join(home, place), 'utf8'), `output of ${ids[index]}`)
  }
})
