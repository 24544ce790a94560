import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { SABOTAGE } from './escapes/sabotage.ts'
import { trySabotage } from './escapes/try-sabotage.ts'

for (const sabotage of SABOTAGE)
  test(
    `after a command that ${sabotage.does} under its supervisor, the next one works`,
    {
      skip: missingProgram('bwrap'),
    },
    (context) => trySabotage(context, sabotage),
  )
