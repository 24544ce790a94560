import type { Hook, HookDelivery } from '../../core/hook.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const HOOK = rowMapper<Pick<Hook, 'id' | 'organizationId' | 'agentId' | 'sealed' | 'isPaused' | 'createdAt'>>()({
  id: 'id',
  organizationId: 'organization_id',
  agentId: 'agent_id',
  sealed: 'sealed_secrets',
  isPaused: { flag: 'is_paused' },
  createdAt: 'created_at',
})

/** `body` is JSON of all other fields. */
export type HookRow = RowOf<typeof HOOK> & { body: string }

export const HOOK_COLUMNS = [...HOOK.columns, 'body'] as const

export const hookRowOf = (hook: Hook): HookRow => ({ ...HOOK.rowOf(hook), body: HOOK.restAsJson(hook) ?? '{}' })

export const hookOf = (row: HookRow): Hook => ({ ...JSON.parse(row.body), ...HOOK.objectOf(row) })

const DELIVERY = rowMapper<HookDelivery>()({
  hookId: 'hook_id',
  organizationId: 'organization_id',
  agentId: 'agent_id',
  deliveryId: 'delivery_id',
  event: 'event',
  outcome: 'outcome',
  runId: 'run_id',
  reason: 'reason',
  bytes: 'bytes',
  receivedAt: 'received_at',
  repeats: 'repeats',
})

/** `dedupe_key` is null unless the delivery became a run. */
export type HookDeliveryRow = RowOf<typeof DELIVERY> & { dedupe_key: string | null }

export const HOOK_DELIVERY_COLUMNS = [...DELIVERY.columns, 'dedupe_key'] as const

export const hookDeliveryRowOf = (delivery: HookDelivery, key: string | null): HookDeliveryRow => ({
  ...DELIVERY.rowOf(delivery),
  dedupe_key: key,
})

export const hookDeliveryOf = DELIVERY.objectOf
