import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fateOf, HOME_FILES } from '../../src/core/home-files.ts'
import { newAgent, newPlace, serve, succeed } from './fixture-backup.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('every file that the program names in a home is in the table of backups', () => {
  const names = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] }).flatMap((file) =>
    [...readFileSync(`${ROOT}/${file}`, 'utf8').matchAll(/join\(home, '([^']+)'/g)].map(([, name]) => name!),
  )
  assert.ok(names.length >= 10, `${names}`)
  assert.deepEqual(
    names.filter((name) => fateOf(name) === undefined),
    [],
  )
})

test('every file of a used home is in the table of backups', async (t) => {
  const { home, file } = newPlace(t)
  const server = await serve(t, home)
  const agent = await newAgent(server, 'ada')
  await server.say(agent, 'remember that Ada likes tea')
  await succeed(home, 'backup', file)
  const names = readdirSync(home)
  assert.ok(
    ['holdfast.db-wal', 'chunks.db', 'server.json', 'notes', 'last-backup.json'].every((one) => names.includes(one)),
  )
  assert.deepEqual(
    names.filter((name) => fateOf(name) === undefined),
    [],
  )
})

test('the documented table of the home is the table of backups', () => {
  const [, section = ''] = readFileSync(`${ROOT}/docs/operations.md`, 'utf8').split('## The home\n')
  const rows = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  const documented = rows.flatMap((row) => {
    const [, names = '', , fate = ''] = row.split('|').map((cell) => cell.trim())
    return [...names.matchAll(/`([^`]+?)\/?`/g)].map(([, name]) => `${name}: ${fate}`)
  })
  assert.deepEqual(documented.sort(), HOME_FILES.map(({ name, fate }) => `${name}: ${IN_BACKUP[fate]}`).sort())
})

const IN_BACKUP = {
  copied: 'yes',
  database: 'as a snapshot',
  'on-request': 'with `--with-secret-key`',
  workspaces: 'yes, unless `--without-workspaces`',
  rebuilt: 'no: it is written again',
  never: 'no',
} as const
