import { missingProgram } from '../harness/programs.ts'
import { openConsole } from './fixture-console.ts'
import { testWalks } from './walks.ts'

testWalks('SQLite', { open: openConsole, skip: missingProgram('chromium') })
