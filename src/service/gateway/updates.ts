import type { InboundReason, InboundRow } from '../../core/gateway/inbound.ts'
import type { OutboundRow } from '../../core/gateway/outbound.ts'
import type { GatewayChange, InboundFilter, OutboundFilter } from '../../ports/gateway-store.ts'
import type { ServiceContext } from '../service-context.ts'
import { commitChanges, type GatewayScope } from './gateway-scope.ts'

/** The oldest updates that have no end yet. */
export const pendingUpdates = (
  { lease }: GatewayScope,
  limit: number,
  { deps }: ServiceContext,
): Promise<InboundRow[]> => deps.store.gateway.pending(lease, limit)

/** These updates are one message that the platform split. */
export const joinUpdates = (numbers: readonly number[], scope: GatewayScope, context: ServiceContext): Promise<void> =>
  commitChanges([{ type: 'join-inbound', numbers, head: numbers[0]! }], scope, context)

/** The update became no run, for this reason; what else follows from it is written in the same commit. */
export const endUpdates = (
  { numbers, reason, changes = [] }: { numbers: readonly number[]; reason: InboundReason; changes?: GatewayChange[] },
  scope: GatewayScope,
  context: ServiceContext,
): Promise<void> =>
  commitChanges([{ type: 'end-inbound', numbers, reason, at: context.deps.clock.now() }, ...changes], scope, context)

/** Whether this message was received before, under another update. */
export const isRepeatedMessage = (
  row: InboundRow,
  { lease }: GatewayScope,
  { deps }: ServiceContext,
): Promise<boolean> => deps.store.gateway.isRepeated(lease, row)

/** What arrived, newest first, with what became of it. */
export const listInbound = (filter: InboundFilter, { deps, organizationId }: ServiceContext): Promise<InboundRow[]> =>
  deps.store.gateway.inbound(organizationId, filter)

/** What was sent or waits for it, newest first. */
export const listOutbound = (
  filter: OutboundFilter,
  { deps, organizationId }: ServiceContext,
): Promise<OutboundRow[]> => deps.store.gateway.sent(organizationId, filter)
