import assert from 'node:assert/strict'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { WireFolder } from '../../src/http/holdfast/wire/workspace-files.ts'
import { missingProgram } from '../harness/programs.ts'
import { serveApp, workspaceAgent } from './fixture-served-app.ts'
import { killSupervisor } from './kill-supervisor.ts'

type Workspace = { conversation_id: string; folder: string; status: string }

test('a person reads the files of a workspace, a path never leads out of it, and one that sleeps is not started for it', {
  skip: missingProgram('bwrap'),
}, async (t) => {
  const { ask, call, client } = await serveApp(t)
  const agent = await workspaceAgent(client)
  await call(agent.id, 'write_file', { path: 'src/notes.txt', content: 'größe\n' })
  const [workspace]: Workspace[] = (await ask('GET', '/v1/workspaces')).body
  const { conversation_id: id, folder: home } = workspace!
  const folder = join(home, 'files')
  const files = `/v1/workspaces/${id}/files`
  const read = (path: string, where = '') => ask('GET', `${files}${where}?path=${encodeURIComponent(path)}`)

  const top: WireFolder = (await ask('GET', files)).body
  assert.deepEqual([top.path, top.is_cut, top.entries.map(({ name }) => name)], ['', false, ['src']])
  const below: WireFolder = (await read('/workspace/src')).body
  assert.equal(below.path, 'src')
  assert.deepEqual([below.entries[0]!.name, below.entries[0]!.kind, below.entries[0]!.bytes], ['notes.txt', 'file', 8])
  const whole: { bytes: number; content: string } = (await read('src/notes.txt', '/content')).body
  assert.deepEqual([whole.bytes, Buffer.from(whole.content, 'base64').toString()], [8, 'größe\n'])

  writeFileSync(join(folder, '..', 'beside.txt'), 'a secret')
  for (const [name, target] of [
    ['etc', '/etc'],
    ['up', '..'],
    ['file', join(folder, '..', 'beside.txt')],
    ['environment', '/proc/self/environ'],
  ] as const)
    symlinkSync(target, join(folder, name))
  writeFileSync(join(folder, 'large'), Buffer.alloc(4 * 1024 * 1024 + 1))
  const hostile = [
    '..',
    '/',
    '../beside.txt',
    '/etc/passwd',
    '/proc/self/environ',
    'etc',
    'etc/passwd',
    'up/beside.txt',
    'file',
    'environment',
    'src/../../spool',
    join(folder, '..', 'beside.txt'),
    '',
    ' ',
    'a\0b',
    'a\nb',
    'x'.repeat(300),
    'x/'.repeat(2_500),
    'nothing',
    'src/notes.txt/below',
  ]
  for (const path of hostile)
    for (const where of ['', '/content']) {
      const { status, body } = (await read(path, where)) as { status: number; body: { detail?: string } }
      assert.ok([400, 404, 422].includes(status), `${where} ${JSON.stringify(path.slice(0, 40))}: ${status}`)
      assert.doesNotMatch(JSON.stringify(body), /a secret|root:/)
    }
  assert.equal((await read('large', '/content')).status, 413)
  assert.equal((await read('src', '/content')).status, 400)
  assert.equal((await ask('GET', `${files}/content`)).status, 422, 'the path is missing')
  assert.equal((await ask('GET', `${files}?path=a&path=b`)).status, 422)
  assert.equal((await ask('GET', '/v1/workspaces/conv-11111111-1111-4111-8111-111111111111/files')).status, 404)

  await killSupervisor(home)
  for (const where of ['', '/content']) {
    const { status, body } = (await read('src/notes.txt', where)) as { status: number; body: unknown }
    assert.equal(status, 409, JSON.stringify(body))
    assert.match(JSON.stringify(body), /wake=true/)
  }
  assert.equal(((await ask('GET', '/v1/workspaces')).body as Workspace[])[0]!.status, 'asleep')
  assert.equal((await ask('GET', `${files}?wake=true`)).status, 200)
})
