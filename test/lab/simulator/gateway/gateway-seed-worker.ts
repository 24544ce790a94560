import { reportSeeds } from '../report-seeds.ts'
import { runGatewaySeed, type SimulatedPlatformName } from './gateway-seed.ts'

/** Set for a platform other than Telegram. */
const platform = (process.env.LAB_PLATFORM ?? 'telegram') as SimulatedPlatformName

await reportSeeds(async ({ seed }) => {
  const { messages: runs, ...report } = await runGatewaySeed(seed, platform)
  return { ...report, seed, runs, conversations: [], faults: new Map(), reached: new Map() }
})
