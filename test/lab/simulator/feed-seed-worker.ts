import { openFeedDatabase } from './feed-database.ts'
import { runFeedSeed } from './feed-seed.ts'
import { reportSeeds } from './report-seeds.ts'

const database = await openFeedDatabase()
if ('skip' in database) throw new Error(database.skip)
try {
  await reportSeeds(({ seed }) => runFeedSeed(seed, database))
} finally {
  await database.close()
}
