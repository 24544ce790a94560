import { DAY_MS } from '../../core/duration.ts'
import type { ServiceContext } from '../service-context.ts'
import type { GatewayScope } from './gateway-scope.ts'

/** Far longer than a platform delivers an update again. */
const KEPT_MS = 30 * DAY_MS

/** Removes what ended long ago; returns how many rows. */
export const pruneAccount = ({ lease }: GatewayScope, { deps }: ServiceContext): Promise<number> =>
  deps.store.gateway.prune(lease, deps.clock.now() - KEPT_MS)
