import { strictEqual } from 'node:assert'
import { test } from 'node:test'
import { POSTGRES, SQLITE } from './dialect.ts'
import { statement } from './statement.ts'

const some = statement<{ limit: number }>()((db, p) => db.selectFrom('runs').select('id').limit(p('limit')))

test('a limit parameter does not make SQLite parse a statement again', () => {
  strictEqual(some.compileFor(SQLITE).sql, 'select "id" from "runs" limit ? + 0')
  strictEqual(some.compileFor(POSTGRES).sql, 'select "id" from "runs" limit $1')
})
