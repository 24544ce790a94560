import type { Hook, HookDelivery } from '../core/hook.ts'
import type { HookId, OrganizationId, RunId } from '../core/id.ts'
import type { OpenedRun, OpenRun } from './run-intake.ts'

/** A verified delivery. `key`: the hook has taken it before if a row has it. */
export type ReceivedDelivery = {
  hook: Hook
  delivery: Pick<HookDelivery, 'deliveryId' | 'event' | 'bytes' | 'receivedAt'>
  key: string
  open: OpenRun
  /** The reason in the log if the run is not opened. */
  refusalOf(opened: OpenedRun): string
}

/** `gone`: the hook was deleted. */
export type Received =
  | { type: 'accepted' | 'repeated'; runId: RunId }
  | { type: 'refused'; opened: OpenedRun }
  | { type: 'gone' }

type Key = { organizationId: OrganizationId; id: HookId }

export type StoredHookDelivery = HookDelivery & { number: number }

export type HookStore = {
  create(hook: Hook, limit: number): Promise<'created' | 'over-limit' | 'no-agent'>
  get(organizationId: OrganizationId, id: HookId): Promise<Hook | undefined>
  /** Of any organization: the sender has no key, but a secret of the hook. */
  find(id: HookId): Promise<Hook | undefined>
  /** Oldest first; there are few. */
  list(organizationId: OrganizationId): Promise<Hook[]>
  edit(key: Key, edit: (hook: Hook) => Hook): Promise<Hook | undefined>
  /** Deletes its log too; its runs stay. */
  delete(key: Key): Promise<boolean>
  /** The delivery and its run are one transaction: a delivery that comes again finds the run of the first time. */
  receive(received: ReceivedDelivery): Promise<Received>
  /** Adds a delivery that became no run to the log. */
  log(delivery: HookDelivery): Promise<void>
  /** Newest first; `before` is the number of the last one seen. */
  deliveries(
    organizationId: OrganizationId,
    id: HookId,
    page: { limit: number; before?: number },
  ): Promise<StoredHookDelivery[]>
  /** Deletes older entries of the log. Returns how many. */
  prune(before: number, limit: number): Promise<number>
  /** Hooks of all organizations, for key rotation. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: HookId; sealed: { secret: string } }[]>
  reseal(id: HookId, from: { secret: string }, to: { secret: string }): Promise<boolean>
}
