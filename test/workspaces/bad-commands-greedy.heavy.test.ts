import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { SLOW } from './escapes/bad-commands.ts'
import { SLOW_SABOTAGE } from './escapes/sabotage.ts'
import { tryBadCommand } from './escapes/try-bad-command.ts'
import { trySabotage } from './escapes/try-sabotage.ts'

for (const bad of SLOW)
  test(
    `a command that ${bad.does} ends in a clear answer, and disturbs nothing else`,
    { skip: missingProgram('bwrap') },
    (context) => tryBadCommand(context, bad),
  )

for (const sabotage of SLOW_SABOTAGE)
  test(
    `after a command that ${sabotage.does}, the next one works`,
    {
      skip: missingProgram('bwrap'),
    },
    (context) => trySabotage(context, sabotage),
  )
