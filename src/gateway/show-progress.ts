import { defined } from '../core/defined.ts'
import { NO_PROGRESS, type Progress, progressText, withChunk } from '../core/gateway/progress.ts'
import type { ChatAddress, Delivery } from '../core/gateway/session.ts'
import { Problem } from '../core/problem.ts'
import { showStatus } from '../service/gateway/deliver-outcome.ts'
import { findStatusMessage } from '../service/gateway/deliveries.ts'
import { watchRun } from '../service/runs/watch-run.ts'
import type { AccountDeps } from './account-deps.ts'
import type { OutboundPump } from './outbound-pump.ts'

type ProgressDeps = AccountDeps & { outbound: OutboundPump }

/** A turn that ends sooner shows its answer only. */
const QUIET_MS = 1_200
const STEP_MS = 300
/** A sign of typing is shown for 5 s. */
const TYPING_MS = 4_500

/**
 * Shows what a run does, in one message that is edited within the rates, until the signal aborts. Lossy: a fault here costs
 * the view of the progress, never the answer.
 */
export async function showProgress(delivery: Delivery, until: AbortSignal, deps: ProgressDeps): Promise<void> {
  const { platform, context, fail } = deps
  const { maxText, edits } = platform.capabilities
  const { clock } = context.deps
  const status = newStatusMessage(delivery, until, deps)
  const beganAt = clock.monotonic()
  let progress = NO_PROGRESS

  async function read(): Promise<void> {
    for await (const { chunk } of watchRun(delivery.runId, { signal: until }, context))
      progress = withChunk(progress, chunk)
  }

  async function show(): Promise<void> {
    for (;;) {
      await clock.sleep(STEP_MS, until)
      if (until.aborted) return
      const isEarly = clock.monotonic() - beganAt < QUIET_MS
      const text = isEarly || !edits ? undefined : progressText(progress, maxText)
      if (text === undefined) await status.type()
      else await status.show(text, progress)
    }
  }

  const ignoreEnd = (fault: unknown) => {
    if (!until.aborted && !(fault instanceof Problem)) fail(fault, `showing the progress of ${delivery.runId}`)
  }
  await Promise.all([read().catch(ignoreEnd), show().catch(ignoreEnd)])
}

function newStatusMessage(delivery: Delivery, until: AbortSignal, deps: ProgressDeps) {
  const { scope, platform, context, outbound } = deps
  const { chatId, isPrivate, thread, runId } = delivery
  const address: ChatAddress = { chatId, isPrivate, ...defined({ thread }) }
  const { clock } = context.deps
  let isPlaced = false
  let messageId: string | undefined
  let shown = ''
  let typedAt = Number.NEGATIVE_INFINITY

  return {
    async show(text: string, progress: Progress): Promise<void> {
      if (!isPlaced) {
        await showStatus(delivery, scope, context)
        isPlaced = true
        return outbound.wake()
      }
      messageId ??= await findStatusMessage(runId, scope, context)
      if (messageId === undefined || text === shown) return
      const show = () =>
        platform.showProgress?.({ address, messageId: messageId!, progress, text }, until) ??
        platform.edit({ address, messageId: messageId!, text, isPlain: true }, until)
      if (await outbound.spare(address, show)) shown = text
    },
    /** Not while the run waits behind others. */
    async type(): Promise<void> {
      const now = clock.monotonic()
      if (now - typedAt < TYPING_MS || context.engine?.dispatcher.isRunning(runId) === false) return
      typedAt = now
      await outbound.spare(address, () => platform.showTyping(address, until))
    },
  }
}
