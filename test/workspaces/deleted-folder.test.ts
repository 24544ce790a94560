import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'

test('a supervisor whose folder was deleted while it started fails, and does not take a processor for ever', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-deleted-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const [bound, place] = [join(folder, 'bound'), join(folder, 'place')]
  mkdirSync(bound)
  mkdirSync(place)
  const script = join(folder, 'script.ts')
  const source = resolve('src/workspaces/supervisor/ensure-folder.ts')
  writeFileSync(
    script,
    `import { ensureFolder } from ${JSON.stringify(source)}\ntry { ensureFolder(${JSON.stringify(join(place, 'processes'))}) } catch (fault) { console.log(fault.code) }\n`,
  )
  const wait = `echo ready; while [ -e ${bound} ]; do sleep 0.02; done; exec ${process.execPath} ${script}`
  const child = spawn('bwrap', ['--dev-bind', '/', '/', '--bind', bound, place, 'sh', '-c', wait])
  context.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
    // The mount stays; what it shows is gone.
    if (output === 'ready\n') rmSync(bound, { recursive: true })
  })
  await once(child, 'close')
  assert.equal(output, 'ready\nENOENT\n')
})
