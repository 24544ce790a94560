import { runOpenaiCopies } from './openai-copies.ts'
import { reportSeeds } from './report-seeds.ts'
import { runScheduleDays } from './schedule-days.ts'
import { runSeed } from './seed.ts'
import { runTenantDay } from './tenants.ts'

/** A day of turns, a day of tenants, weeks of schedules, and copies of requests of OpenAI's client. */
await reportSeeds(async ({ seed }) => {
  const report = await runSeed({ seed })
  const tenants = await runTenantDay(seed)
  const { violations } = await runScheduleDays(seed)
  const openai = await runOpenaiCopies(seed)
  return { ...report, violations: [...report.violations, ...tenants, ...violations, ...openai.violations] }
})
