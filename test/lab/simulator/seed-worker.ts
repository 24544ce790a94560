import { reportSeeds } from './report-seeds.ts'
import { runSeed } from './seed.ts'

await reportSeeds(runSeed)
