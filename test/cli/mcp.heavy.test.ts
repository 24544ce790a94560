import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMcpServer, text } from '../harness/mcp-server.ts'
import { holdfast } from './holdfast.ts'

test('`holdfast mcp run` finds a tool by the name that it has at its server, also where it has another name here', async (context) => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-mcp-'))
  const server = await startMcpServer([{ name: 'write_file', run: () => text('written') }])
  context.after(async () => {
    await server.close()
    rmSync(home, { recursive: true, force: true })
  })
  assert.equal((await holdfast(['mcp', 'add', 'files', server.url], { home })).code, 0)
  assert.match((await holdfast(['mcp', 'tools', 'files'], { home })).stdout, /files_write_file/)
  for (const name of ['write_file', 'files_write_file'])
    assert.match((await holdfast(['mcp', 'run', 'files', name], { home })).stdout, /written/, name)
  assert.match((await holdfast(['mcp', 'run', 'files', 'erase'], { home })).stderr, /There is no tool of files "erase"/)
})
