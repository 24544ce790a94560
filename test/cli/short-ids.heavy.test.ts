import { describe, test } from 'node:test'
import { POSITIONS, takesShortIds } from './short-ids.ts'

describe('shortened ids', { concurrency: 4 }, () => {
  for (const position of POSITIONS)
    test(`${position.name} takes the beginning of the id of its ${position.noun}, and refuses one that fits two`, (context) =>
      takesShortIds(position, context))
})
