import type { GatewayAccount } from '../gateway/account.ts'
import type { InboundRow } from '../gateway/inbound.ts'
import type { OutboundRow } from '../gateway/outbound.ts'
import type { Delivery } from '../gateway/session.ts'
import type { RunId } from '../id.ts'
import type { Invariant, Violation } from './record.ts'

/** Rows of one account, read while it may be in use. */
type GatewayRecord = {
  account: GatewayAccount
  /** Whether a live process owns it. */
  isOwned: boolean
  /** Whether these are all messages and all deliveries of the account, and not the newest of many. */
  isWhole: boolean
  inbound: readonly InboundRow[]
  outbound: readonly OutboundRow[]
  deliveries: readonly Delivery[]
  /** Runs of these rows that exist. */
  runs: ReadonlySet<RunId>
  /** When the owed runs ended. */
  overSince: ReadonlyMap<RunId, number>
  now: number
}

/** Far longer than a restart, a takeover and the longest backoff. */
const STUCK_MS = 15 * 60_000

const updatesEnd: Invariant<GatewayRecord> = {
  id: 'I40',
  name: 'updates end',
  sentence: 'Every update that was received becomes a run or ends with a reason, and what waits says what for.',
  promise: 'nothing is lost',
  check: ({ inbound, isOwned, runs, now }) =>
    inbound.flatMap((row) => {
      const where = `the update ${row.key}`
      if (row.state === 'run' && (!row.runId || !runs.has(row.runId))) return `${where} names a run that does not exist`
      if (row.state === 'ended' && !row.reason) return `${where} ended without a reason`
      const isStuck = isOwned && row.state === 'pending' && !row.note && now - row.receivedAt > STUCK_MS
      return isStuck ? `${where} has waited for ${minutes(now - row.receivedAt)} min without a reason` : []
    }),
}

const outboxMoves: Invariant<GatewayRecord> = {
  id: 'I41',
  name: 'outbox moves',
  sentence: 'A message that was sent has the id of the platform, and no call stays without a result.',
  promise: 'nothing is stuck',
  check: ({ outbound, isOwned, now }) =>
    outbound.flatMap((row) => {
      const where = `the message ${row.key}`
      if (row.state === 'sent' && row.messageId === undefined) return `${where} is sent and has no id`
      if ((row.state === 'failed' || row.state === 'unknown') && !row.error)
        return `${where} is ${row.state} without a reason`
      const isStuck = isOwned && row.state === 'sending' && now - row.updatedAt > STUCK_MS
      return isStuck ? `${where} has been sending for ${minutes(now - row.updatedAt)} min` : []
    }),
}

const answersAreSaid: Invariant<GatewayRecord> = {
  id: 'I42',
  name: 'answers are said',
  sentence: 'A run whose outcome was handed to a chat has messages there, and each message is there once.',
  promise: 'nothing happens twice',
  check({ outbound, inbound, deliveries, isWhole }) {
    const keys = outbound.map(({ key }) => key)
    const twice = keys.filter((key, index) => keys.indexOf(key) !== index)
    const owed = new Set(deliveries.map(({ runId }) => runId))
    const said = new Set(outbound.map(({ runId }) => runId))
    const isSilent = ({ state, runId }: InboundRow) => state === 'run' && runId && !owed.has(runId) && !said.has(runId)
    const silent = isWhole ? inbound.filter(isSilent) : []
    return [
      ...twice.map((key) => `the message ${key} exists twice`),
      ...silent.map(({ key, runId }) => `the update ${key} reached ${runId}, whose outcome is neither owed nor said`),
    ]
  },
}

const owedIsSaid: Invariant<GatewayRecord> = {
  id: 'I43',
  name: 'what is owed is said',
  sentence: 'A run that is over does not stay owed to its chat, also if no chat started it.',
  promise: 'nothing is stuck',
  check: ({ deliveries, isOwned, overSince, now }) =>
    deliveries.flatMap(({ runId, state }) => {
      const since = overSince.get(runId)
      const isStuck = isOwned && state !== 'waiting' && since !== undefined && now - since > STUCK_MS
      return isStuck ? `${runId} has been over for ${minutes(now - since)} min, and its chat was not told` : []
    }),
}

const GATEWAY_INVARIANTS = [updatesEnd, outboxMoves, answersAreSaid, owedIsSaid]

export const checkGateway = (record: GatewayRecord): Violation[] =>
  GATEWAY_INVARIANTS.flatMap(({ id, sentence, promise, check }) =>
    check(record).map((detail) => ({ invariant: id, sentence, promise, where: record.account.name, detail })),
  )

const minutes = (ms: number): number => Math.floor(ms / 60_000)
