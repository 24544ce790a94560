import { startChangePruner } from './change-pruner.ts'
import { startEraser } from './eraser.ts'
import { startImporter } from './importer.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { startScheduleRunner } from './schedule-runner.ts'
import { startSearchIndexer } from './search-indexer.ts'
import { startSessionExpirer } from './session-expirer.ts'
import { startStreamPruner } from './stream-pruner.ts'
import { startWebhookSender } from './webhook-sender.ts'
import { startWorkspaceJanitor } from './workspace-janitor.ts'

/**
 * Background work of a process that owns a home, whether it serves HTTP or embeds Holdfast. The engine keeps its own
 * timers (heartbeat, takeover, expired approvals): they are part of holding a lease and start and stop with it.
 */
const JOBS: Record<string, (parts: JobDeps) => RunningJob> = {
  'search indexer': startSearchIndexer,
  'workspace janitor': startWorkspaceJanitor,
  'webhook sender': startWebhookSender,
  'stream pruner': startStreamPruner,
  'session expirer': startSessionExpirer,
  'change pruner': startChangePruner,
  importer: startImporter,
  eraser: startEraser,
  'schedule runner': startScheduleRunner,
}

export function startJobs(parts: JobDeps): RunningJob {
  const { report } = parts.context.deps
  const running = Object.entries(JOBS).map(([name, start]) => ({ name, job: start(parts) }))
  return {
    async stop() {
      await Promise.all(
        running.map(({ name, job }) => job.stop().catch((fault) => report(fault, `stopping the ${name}`))),
      )
    },
  }
}
