import { runImportSeed } from './import-seed.ts'
import { reportSeeds } from './report-seeds.ts'

await reportSeeds(runImportSeed)
