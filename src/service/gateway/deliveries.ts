import type { Delivery } from '../../core/gateway/session.ts'
import type { RunId } from '../../core/id.ts'
import type { ServiceContext } from '../service-context.ts'
import { statusKey } from './deliver-outcome.ts'
import type { GatewayScope } from './gateway-scope.ts'

/** Runs whose outcome is owed to a chat, the oldest first. */
export const openDeliveries = ({ lease }: GatewayScope, limit: number, { deps }: ServiceContext): Promise<Delivery[]> =>
  deps.store.gateway.deliveries(lease, limit)

/** The platform's id of the message that shows the progress of a run. */
export async function findStatusMessage(
  runId: RunId,
  { lease }: GatewayScope,
  { deps }: ServiceContext,
): Promise<string | undefined> {
  return (await deps.store.gateway.outbound(lease, statusKey(runId)))?.messageId
}
