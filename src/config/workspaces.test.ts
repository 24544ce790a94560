import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Problem } from '../core/problem.ts'
import { readConfigFile } from './config-file.ts'
import { AMOUNTS, readWorkspaceSettings, type WorkspaceConfig } from './workspaces.ts'

const read = (environment: Record<string, string>, configured: WorkspaceConfig = {}) =>
  readWorkspaceSettings(environment, { home: '/home/of/it', configured })

const MEGABYTE = 1024 * 1024

test('without a word of anybody there is a sandbox, a gigabyte of each, and no way out', () => {
  assert.deepEqual(read({}), {
    folder: '/home/of/it/workspaces',
    containment: 'bubblewrap',
    quota: { diskBytes: 1_024 * MEGABYTE, memoryBytes: 1_024 * MEGABYTE, processes: 128 },
    egress: [],
  })
})

test('the environment wins over config.yaml, and config.yaml over what is usual', () => {
  const configured: WorkspaceConfig = { sandbox: 'local', disk_mb: 100, memory_mb: 200, egress: ['example.com'] }
  const settings = read(
    {
      HOLDFAST_WORKSPACE_DISK_MB: '50',
      HOLDFAST_EGRESS: ' Example.org, *.example.net:8443,',
      HOLDFAST_WORKSPACES: '~/work',
    },
    configured,
  )
  assert.equal(settings.containment, 'local')
  assert.deepEqual(settings.quota, { diskBytes: 50 * MEGABYTE, memoryBytes: 200 * MEGABYTE, processes: 128 })
  assert.deepEqual(settings.egress, ['example.org', '*.example.net:8443'])
  assert.equal(settings.folder, join(homedir(), 'work'))
  assert.deepEqual(read({}, configured).egress, ['example.com'])
  assert.equal(read({ HOLDFAST_SANDBOX: 'bubblewrap' }, configured).containment, 'bubblewrap')
})

test('everything that cannot be used is named at once, with what would do', () => {
  const wrong = {
    HOLDFAST_SANDBOX: 'docker',
    HOLDFAST_WORKSPACE_DISK_MB: 'lots',
    HOLDFAST_WORKSPACE_MEMORY_MB: '1',
    HOLDFAST_WORKSPACE_PROCESSES: '2.5',
    HOLDFAST_EGRESS: 'example.com,http://example.org,10.0.0.1,*,localhost',
    HOLDFAST_WORKSPACES: 'work',
  }
  assert.throws(
    () => read(wrong),
    (fault: Problem) => {
      assert.equal(fault instanceof Problem && fault.details.faults?.length, 9)
      for (const name of Object.keys(wrong)) assert.ok(fault.message.includes(name), name)
      assert.match(fault.message, /HOLDFAST_EGRESS has "http:\/\/example\.org"; write domains as example\.com/)
      return true
    },
  )
})

test('config.yaml takes every key of workspaces, and tells every mistake with its place', async (context) => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  const configure = (text: string) => {
    writeFileSync(join(home, 'config.yaml'), text)
    return readConfigFile(home)
  }
  const good = await configure(
    'workspaces: { sandbox: local, folder: ~/work, disk_mb: 64, memory_mb: 512, processes: 16, egress: ["*.example.com"] }',
  )
  assert.equal(good.workspaces.sandbox, 'local')
  assert.deepEqual(good.workspaces.egress, ['*.example.com'])
  const bad = configure('workspaces: { sandbox: none, disk_mb: 1, egress: ["10.0.0.1"], folder: work, cpu: 1 }')
  await assert.rejects(bad, (fault: Problem) => {
    for (const place of ['sandbox', 'disk_mb', 'egress/0', 'folder', 'cpu'])
      assert.ok(fault.message.includes(`workspaces/${place}`), `${place}: ${fault.message}`)
    return true
  })
})

test('every setting of workspaces is documented under both of its names', () => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const variables = { sandbox: 'HOLDFAST_SANDBOX', folder: 'HOLDFAST_WORKSPACES', egress: 'HOLDFAST_EGRESS' }
  for (const [name, variable] of Object.entries(variables))
    assert.ok(page.includes(`| \`workspaces.${name}\` | \`${variable}\` |`), name)
  for (const [name, { variable, usual, says }] of Object.entries(AMOUNTS))
    assert.ok(page.includes(`| \`workspaces.${name}\` | \`${variable}\` | ${says} | ${usual} |`), name)
})
