import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { holdfast, newHome } from './holdfast.ts'

const FILES = fileURLToPath(new URL('../http/agent-files/', import.meta.url))

test('a folder of agent files is imported in one command: each file whole or not at all, and a refused one is named', async (t) => {
  const home = newHome(t)
  const environment = { OPENAI_API_KEY: 'sk-test' }
  const folder = join(home, 'files')
  mkdirSync(folder)
  assert.match((await holdfast(['agents', 'import', folder], { home })).stderr, /has no agent files \(\.af or \.json\)/)
  for (const name of ['long.af', 'with-conversation.af']) copyFileSync(join(FILES, name), join(folder, name))
  const file = JSON.parse(readFileSync(join(FILES, 'long.af'), 'utf8'))
  // Refused after its blocks and tools were read: nothing of it may stay.
  file.agents[0].name = 'torn'
  file.agents[0].block_ids = [...(file.agents[0].block_ids ?? []), 'block-nowhere']
  writeFileSync(join(folder, 'broken.JSON'), JSON.stringify(file))
  writeFileSync(join(folder, 'notes.txt'), 'Not an agent file.')

  const args = ['--model', 'scripted/friendly']
  const ended = await holdfast(['agents', 'import', folder, ...args, '--json'], { home, environment })
  assert.equal(ended.code, 1, ended.stderr)
  const imported = JSON.parse(ended.stdout) as { file: string; agents: { id: string; name: string }[] }[]
  assert.deepEqual(
    imported.map(({ file: path }) => path),
    ['long.af', 'with-conversation.af'].map((name) => join(folder, name)),
  )
  assert.match(ended.stderr, /broken\.JSON: .*block-nowhere/)
  const listed = JSON.parse((await holdfast(['agents', 'list', '--json'], { home })).stdout) as { id: string }[]
  assert.deepEqual(
    listed.map(({ id }) => id).sort(),
    imported.flatMap(({ agents }) => agents.map(({ id }) => id)).sort(),
  )
  const named = await holdfast(['agents', 'import', folder, '--name', 'ada'], { home, environment })
  assert.match(named.stderr, /--name is for one file/)
})
