import { runHookDays } from './hook-days.ts'
import { runOpenaiCopies } from './openai-copies.ts'
import { reportSeeds } from './report-seeds.ts'
import { runScheduleDays } from './schedule-days.ts'
import { runSeed } from './seed.ts'
import { runTenantDay } from './tenants.ts'

/** A day of turns, a day of tenants, weeks of schedules, days of webhooks in and out, and copies of requests of OpenAI's client. */
await reportSeeds(async ({ seed }) => {
  const report = await runSeed({ seed })
  const tenants = await runTenantDay(seed)
  const { violations } = await runScheduleDays(seed)
  const openai = await runOpenaiCopies(seed)
  const hooks = await runHookDays(seed)
  const others = [...tenants, ...violations, ...openai.violations, ...hooks.violations]
  return { ...report, violations: [...report.violations, ...others] }
})
