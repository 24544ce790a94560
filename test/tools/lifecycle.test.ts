import { testLifecycle } from './lifecycle.ts'

testLifecycle('SQLite', ['Python'])
