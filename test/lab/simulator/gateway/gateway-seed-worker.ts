import { reportSeeds } from '../report-seeds.ts'
import { runGatewaySeed } from './gateway-seed.ts'

await reportSeeds(async ({ seed }) => {
  const { messages: runs, ...report } = await runGatewaySeed(seed)
  return { ...report, seed, runs, conversations: [], faults: new Map(), reached: new Map() }
})
