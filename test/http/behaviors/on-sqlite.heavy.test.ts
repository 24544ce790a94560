import { ALL } from './all.ts'
import { testOnServer } from './fixture-behaviors.ts'

testOnServer({ name: 'a server on SQLite' }, ALL)
