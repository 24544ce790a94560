import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { QUICK } from './escapes/bad-commands.ts'
import { tryBadCommand } from './escapes/try-bad-command.ts'

// Those that take what there is are in a file of their own.
for (const bad of QUICK)
  test(
    `a command that ${bad.does} ends in a clear answer, and nobody else notices`,
    { skip: missingProgram('bwrap') },
    (context) => tryBadCommand(context, bad),
  )
