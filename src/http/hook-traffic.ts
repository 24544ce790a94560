import type { HookId } from '../core/id.ts'
import type { HookTraffic } from '../service/hooks/receive-delivery.ts'
import { newBucket, newBuckets } from './rate-limit.ts'

const MOST_HOOKS = 10_000
/** Entries of the log for refused and ignored deliveries of one hook. */
const LOGGED = { perSecond: 0.5, burst: 100 }

/** Limits of hooks, in the memory of this server. Refusals beyond the share are answered and not logged. */
export function newHookTraffic(): HookTraffic {
  const logged = newBuckets(MOST_HOOKS, () => newBucket(LOGGED))
  let perMinute = 1
  const taken = newBuckets(MOST_HOOKS, () => newBucket({ perSecond: perMinute / 60, burst: perMinute }))
  return {
    take(hook) {
      perMinute = hook.perMinute
      return taken.of(`${hook.id} ${hook.perMinute}`).take(Date.now())
    },
    mayLogRefusal: (id: HookId) => logged.of(id).take(Date.now()) === 0,
  }
}
