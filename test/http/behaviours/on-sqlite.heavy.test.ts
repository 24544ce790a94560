import { ALL } from './all.ts'
import { serveAt } from './house.ts'

serveAt({ name: 'a server on SQLite' }, ALL)
