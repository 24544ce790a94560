import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { QUICK } from './escapes/bad-commands.ts'
import { tryBadCommand } from './escapes/try-bad-command.ts'

// Commands that exhaust a resource are in bad-commands-greedy.
for (const bad of QUICK)
  test(
    `a command that ${bad.does} ends in a clear answer, and disturbs nothing else`,
    { skip: missingProgram('bwrap') },
    (context) => tryBadCommand(context, bad),
  )
