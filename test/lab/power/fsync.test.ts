import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../../harness/programs.ts'
import { markedTooEarly, marksAfterWrites, readTrace } from './trace.ts'

const WORKER = fileURLToPath(new URL('./acking-worker.ts', import.meta.url))
const skip = missingProgram('strace')

test('in strict mode every write is on disk before it is acknowledged or dispatched', { skip }, (context) => {
  const deeds = trace(context, 'strict')
  assert.deepEqual(markedTooEarly(deeds), [])
  assert.equal(marksAfterWrites(deeds, 'accepted'), 6, 'every acceptance wrote something')
  for (const what of ['created', 'dispatched', 'cancelled', 'answered', 'ended'])
    assert.ok(marksAfterWrites(deeds, what) > 0, `${what} wrote something`)
})

test('in relaxed mode acknowledgments come before the data is on disk', { skip }, (context) => {
  assert.ok(markedTooEarly(trace(context, 'relaxed')).length > 0)
})

function trace(context: TestContext, durability: 'strict' | 'relaxed') {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fsync-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'trace')
  const calls = ['-f', '-y', '-e', 'trace=fdatasync,fsync,write,pwrite64', '-o', file]
  const environment = { HOLDFAST_HOME: join(folder, 'home'), HOLDFAST_DURABILITY: durability }
  execFileSync('strace', [...calls, process.execPath, WORKER], { env: { ...process.env, ...environment } })
  return readTrace(readFileSync(file, 'utf8'))
}

/** Some containers have strace but do not permit it. */
