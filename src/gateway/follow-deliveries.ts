import { defined } from '../core/defined.ts'
import type { Delivery } from '../core/gateway/session.ts'
import { Problem } from '../core/problem.ts'
import { deliverOutcome } from '../service/gateway/deliver-outcome.ts'
import { openDeliveries } from '../service/gateway/deliveries.ts'
import { waitForRun } from '../service/runs/watch-run.ts'
import type { AccountDeps } from './account-deps.ts'
import type { OutboundPump } from './outbound-pump.ts'
import { newRounds } from './rounds.ts'
import { showProgress } from './show-progress.ts'

/** Follows the runs whose outcome is owed to a chat, shows their progress and hands their outcome to the outbox. */
type Followers = { wake(): void; stop(): Promise<void> }

const ROUND = 1_000
/** Runs whose progress is shown at once. The outcome of the others is found by the sweep. */
const MOST_FOLLOWED = 500
const RETRY_MS = 1_000

export function newFollowers(deps: AccountDeps & { outbound: OutboundPump }): Followers {
  const { scope, platform, context, signal, fail, outbound } = deps
  const { clock } = context.deps
  const followed = new Map<string, Promise<void>>()
  const options = {
    scope,
    maxText: platform.capabilities.maxText,
    notifiesOfEdits: platform.capabilities.notifiesOfEdits,
    ...defined({ maxFileBytes: platform.capabilities.maxFileBytes }),
  }
  const rounds = newRounds({
    work: startRound,
    failed(fault) {
      fail(fault, 'reading the runs whose answers are owed')
    },
    clock,
    signal,
  })

  async function startRound(): Promise<void> {
    for (const delivery of await openDeliveries(scope, ROUND, context)) {
      if (followed.has(delivery.runId) || signal.aborted) continue
      if (delivery.state === 'open' && followed.size < MOST_FOLLOWED) start(delivery)
      // One that cannot be delivered does not hold up those after it.
      else await deliver(delivery).catch((fault) => fail(fault, `delivering ${delivery.runId}`))
    }
  }

  function start(delivery: Delivery): void {
    const done = follow(delivery)
      .catch((fault) => {
        fail(fault, `following ${delivery.runId}`)
        return clock.sleep(RETRY_MS, signal)
      })
      .finally(() => {
        followed.delete(delivery.runId)
        rounds.wake()
      })
    followed.set(delivery.runId, done)
  }

  async function follow(delivery: Delivery): Promise<void> {
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    // No person waits for a run that started by itself, and it may end with nothing to say.
    const shown = delivery.isUnprompted ? undefined : showProgress(delivery, either, deps)
    try {
      await waitForRun(delivery.runId, context, signal)
    } catch (fault) {
      // The run was deleted with its agent: the delivery ends below.
      if (!(fault instanceof Problem)) throw fault
    } finally {
      over.abort()
      await shown
    }
    if (!signal.aborted) await deliver(delivery)
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const progress = await deliverOutcome(delivery, options, context)
    if (progress === 'running') return
    outbound.wake()
    // A continuing run may be owed now.
    if (progress === 'ended') rounds.wake()
  }

  return {
    wake: rounds.wake,
    async stop() {
      await rounds.ended()
      await Promise.all(followed.values())
    },
  }
}
