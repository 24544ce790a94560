import { defined } from '../core/defined.ts'
import type { AccountState, GatewayAccount } from '../core/gateway/account.ts'
import type { CallFailure, CallFailureKind } from '../core/gateway/send-plan.ts'
import type { AccountSettings } from '../core/gateway/settings.ts'
import { acceptUpdates, claimAccount, releaseAccount, reportAccount } from '../service/gateway/accounts.ts'
import { listSessions } from '../service/gateway/chat-sessions.ts'
import { LostAccount } from '../service/gateway/gateway-scope.ts'
import { ownsAccount } from '../service/gateway/outbox.ts'
import { pruneAccount } from '../service/gateway/prune.ts'
import type { ServiceContext } from '../service/service-context.ts'
import type { AccountDeps, Transcribe } from './account-deps.ts'
import { newFollowers } from './follow-deliveries.ts'
import { newInboundPump } from './inbound-pump.ts'
import { newOutboundPump } from './outbound-pump.ts'
import { newOwnership } from './ownership.ts'
import type { OpenPlatform } from './platforms.ts'

type AccountOptions = {
  name: string
  settings: AccountSettings
  context: ServiceContext
  open: OpenPlatform
  transcribe?: Transcribe
  signal: AbortSignal
}

/** How often a process asks for an account that another one owns: a lost owner is followed within its lease. */
const CLAIM_MS = 2_000
/** How often rows of other processes are looked for: approvals, pairings, runs that ended elsewhere. */
const SWEEP_MS = 1_000
/** How often the time of the last success is stored. */
const SUCCESS_MS = 10_000
/** At a shutdown, calls in flight may be answered for this long: an aborted call has an unknown outcome. */
const CALL_GRACE_MS = 3_000
const PRUNE_MS = 3_600_000
/** Chats whose history is read after a gap: the last active ones. */
const MOST_KNOWN = 500
const FIRST_BACKOFF_MS = 1_000
const LONGEST_BACKOFF_MS = 60_000

/** What a failure of the connection means for the account, and how long it waits at least. */
const AFTER_FAILURE: Partial<Record<CallFailureKind, { state: AccountState; waitMs: number }>> = {
  unauthorized: { state: 'refused', waitMs: 300_000 },
  // The other program may end at any time.
  conflict: { state: 'conflict', waitMs: 5_000 },
}

/** Owns the account whenever no other process does, until the signal aborts. Never rejects. */
export async function startAccount(options: AccountOptions): Promise<void> {
  const { name, context, signal } = options
  const { clock, report } = context.deps
  while (!signal.aborted) {
    try {
      const account = await claimAccount(name, context)
      if (account) await own(account, options)
    } catch (fault) {
      if (!(fault instanceof LostAccount)) report(fault, `running the gateway account ${name}`)
    }
    await clock.sleep(CLAIM_MS, signal)
  }
}

async function own(account: GatewayAccount, options: AccountOptions): Promise<void> {
  const { name, settings, context, open, transcribe, signal } = options
  const { clock, report } = context.deps
  const lost = new AbortController()
  const either = AbortSignal.any([signal, lost.signal])
  const calls = new AbortController()
  either.addEventListener('abort', () => void clock.sleep(CALL_GRACE_MS).then(() => calls.abort()))
  const lease = { organizationId: account.organizationId, account: name, fence: account.fence }
  const { botId, botName } = account
  const known = botId !== undefined && botName !== undefined ? { id: botId, name: botName } : undefined
  const platform = await open(settings, known)
  const scope = { lease, settings, commandPrefix: platform.capabilities.commandPrefix }
  const state = newAccountState(account)
  const faults = new Set<string>()

  /** A fault that repeats is reported once until something else happens. */
  function fail(fault: unknown, where: string): void {
    if (fault instanceof LostAccount) lost.abort()
    if (fault instanceof LostAccount || signal.aborted || faults.has(where)) return
    if (faults.size > 100) faults.clear()
    faults.add(where)
    report(fault, `${where} (gateway account ${name})`)
  }

  const ownership = newOwnership({
    clock,
    verify: () => ownsAccount(scope, context),
    lost: () => lost.abort(),
    failed: (fault) => fail(fault, 'asking whether the account is still ours'),
  })
  const deps: AccountDeps = {
    scope,
    ownership,
    platform,
    context,
    signal: either,
    callSignal: calls.signal,
    fail,
    botName: () => state.botName,
    ...defined({ transcribe }),
  }
  const outbound = newOutboundPump({ ...deps, refused: (failure) => state.refuse(failure) })
  const followers = newFollowers({ ...deps, outbound })
  const inbound = newInboundPump({
    ...deps,
    onTaken() {
      followers.wake()
      outbound.wake()
    },
  })
  const sweep = () => {
    ownership.tick()
    inbound.wake()
    followers.wake()
    outbound.wake()
  }
  const endings = [
    clock.every(SWEEP_MS, sweep),
    clock.every(SUCCESS_MS, () => void storeSuccess().catch((fault) => fail(fault, 'storing the state'))),
    clock.every(PRUNE_MS, () => void pruneAccount(scope, context).catch((fault) => fail(fault, 'removing old rows'))),
    context.commits.listen({ event: (event) => void (event.type === 'turn-ended' && followers.wake()) }),
  ]

  async function storeSuccess(): Promise<void> {
    if (state.lastSuccessAt === undefined || state.name !== 'up') return
    await reportAccount(lease, { state: 'up', lastSuccessAt: state.lastSuccessAt }, context)
  }

  try {
    sweep()
    await connectUntilLost({ ...deps, account, state, inbound })
  } finally {
    lost.abort()
    for (const end of endings) end()
    await Promise.all([inbound.stop(), outbound.stop(), followers.stop()])
    await platform.close()
    if (signal.aborted) await releaseAccount(lease, 'the server was stopped', context).catch(() => undefined)
  }
}

type Connecting = AccountDeps & {
  account: GatewayAccount
  state: ConnectionState
  inbound: { wake(): void }
}

/** Connects, receives, and connects again after each failure. */
async function connectUntilLost(parts: Connecting): Promise<void> {
  const { scope, context, signal, state, fail } = parts
  const { clock } = context.deps
  for (let failures = 0; !signal.aborted; ) {
    try {
      await reportAccount(scope.lease, { state: 'connecting', ...state.identity }, context)
      const failure = await connectOnce(parts, () => {
        failures = 0
      })
      if (signal.aborted) return
      const { state: next, waitMs } = AFTER_FAILURE[failure.kind] ?? { state: 'backing-off' as const, waitMs: 0 }
      const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures, 6))
      const forMs = Math.max(waitMs, failure.retryAfterMs ?? backoff)
      failures += 1
      state.name = next
      const nextTryAt = clock.now() + forMs
      await reportAccount(scope.lease, { state: next, detail: failure.detail, nextTryAt }, context)
      await clock.sleep(forMs, signal)
    } catch (fault) {
      if (fault instanceof LostAccount) throw fault
      fail(fault, 'connecting')
      await clock.sleep(FIRST_BACKOFF_MS, signal)
    }
  }
}

async function connectOnce(
  { scope, platform, context, signal, state, account, inbound }: Connecting,
  onSuccess: () => void,
): Promise<CallFailure> {
  const { clock } = context.deps
  const identified = await platform.identify(signal)
  if (identified.type === 'failed') return identified.failure
  const { identity } = identified
  const now = clock.now()
  const isOtherBot = account.botId !== undefined && account.botId !== identity.id
  state.botName = identity.name
  state.name = 'up'
  state.lastSuccessAt = now
  await reportAccount(
    scope.lease,
    { state: 'up', botId: identity.id, botName: identity.name, lastSuccessAt: now },
    context,
  )
  onSuccess()
  // A cursor of another bot means nothing for this one.
  if (isOtherBot) delete account.cursor
  account.botId = identity.id
  const receiving = new AbortController()
  state.onRefused = (failure) => {
    state.refusal = failure
    receiving.abort()
  }
  const failure = await platform.receive({
    cursor: account.cursor,
    async commit(updates, cursor) {
      await acceptUpdates({ lease: scope.lease, updates, cursor }, context)
      if (cursor !== undefined) account.cursor = cursor
      if (updates.length > 0) inbound.wake()
    },
    alive() {
      state.lastSuccessAt = clock.now()
      onSuccess()
    },
    async known() {
      const sessions = await listSessions({ account: scope.lease.account, limit: MOST_KNOWN }, context)
      return sessions.map(({ chatId, thread, isPrivate }) => ({ chatId, isPrivate, ...defined({ thread }) }))
    },
    now: clock.now,
    sleep: (ms) => clock.sleep(ms, signal),
    signal: AbortSignal.any([signal, receiving.signal]),
  })
  return state.takeRefusal() ?? failure
}

type ConnectionState = {
  name: AccountState
  botName: string | undefined
  lastSuccessAt: number | undefined
  identity: { botId?: string; botName?: string }
  refusal: CallFailure | undefined
  onRefused: ((failure: CallFailure) => void) | undefined
  /** A send was refused for its token: receiving ends, so that the account shows it. */
  refuse(failure: CallFailure): void
  takeRefusal(): CallFailure | undefined
}

function newAccountState({ state, botName, lastSuccessAt }: GatewayAccount): ConnectionState {
  return {
    name: state,
    botName,
    lastSuccessAt,
    identity: {},
    refusal: undefined,
    onRefused: undefined,
    refuse(failure) {
      this.onRefused?.(failure)
    },
    takeRefusal() {
      const { refusal } = this
      this.refusal = undefined
      return refusal
    },
  }
}
