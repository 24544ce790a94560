import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { holdfast } from '../cli/holdfast.ts'
import { startPostgres } from '../harness/postgres.ts'
import { newPlace } from './fixture-backup.ts'

test('on PostgreSQL a backup has the files, and a restore checks them against the database', async (t) => {
  const postgres = await startPostgres()
  if ('skip' in postgres) return t.skip(postgres.skip)
  t.after(() => postgres.stop())
  const { home, file, restored } = newPlace(t)
  const environment = { DATABASE_URL: postgres.url }
  const run = (place: string, ...parameters: string[]) => holdfast(parameters, { home: place, environment })
  assert.equal((await run(home, 'run', 'remember that Ada likes tea')).code, 0)
  const backup = await run(home, 'backup', file)
  assert.equal(backup.code, 0, backup.stderr)
  assert.match(backup.stdout, /The database is not in it/)

  const without = await holdfast(['restore', file], { home: restored })
  assert.match(without.stderr, /has no database: it was made with PostgreSQL/)
  const restore = await run(restored, 'restore', file)
  assert.equal(restore.code, 0, restore.stderr)
  assert.equal(restore.stderr, '')
  const answer = await run(restored, 'run', 'what do you remember')
  assert.match(answer.stdout, /Ada likes tea/)

  const later = await run(join(home, '..', 'second'), 'restore', file)
  assert.match(later.stderr, /the database has runs from .*, after these files were copied/)
})

test('a backup with its own database is not restored beside PostgreSQL', async (t) => {
  const { home, file, restored } = newPlace(t)
  mkdirSync(join(home, 'notes'))
  writeFileSync(join(home, 'notes', 'a.md'), '- tea')
  assert.equal((await holdfast(['agents', 'create', 'ada'], { home })).code, 0)
  assert.equal((await holdfast(['backup', file], { home })).code, 0)
  const environment = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  const { stderr } = await holdfast(['restore', file], { home: restored, environment })
  assert.match(stderr, /Unset DATABASE_URL to restore it/)
  assert.equal(readFileSync(join(home, 'notes', 'a.md'), 'utf8'), '- tea')
})
