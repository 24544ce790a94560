import { defined } from '../core/defined.ts'
import type { OutboundFile, OutboundRow } from '../core/gateway/outbound.ts'
import { newRateBudget } from '../core/gateway/rate-budget.ts'
import { afterFailure, afterSuccess, type Call, type CallFailure, nextCall } from '../core/gateway/send-plan.ts'
import type { ChatAddress } from '../core/gateway/session.ts'
import type { CallOutcome, OutgoingFile } from '../ports/platform.ts'
import { LostAccount } from '../service/gateway/gateway-scope.ts'
import {
  beginSend,
  endSend,
  moveChat,
  nameUnsent,
  openMessages,
  recoverSending,
  storedBytes,
  tellUnknown,
} from '../service/gateway/outbox.ts'
import { listOutbound } from '../service/gateway/updates.ts'
import type { AccountDeps } from './account-deps.ts'
import { newRounds } from './rounds.ts'

/** Sends stored messages: those of a chat in their order, and each call committed before it is made. */
export type OutboundPump = {
  wake(): void
  /** Lossy work in a chat, only if no message waits there and the rates allow it: an interim edit, a sign of typing. */
  spare(address: ChatAddress, work: () => Promise<CallOutcome>): Promise<boolean>
  stop(): Promise<void>
}

const ROUND = 300
const RETRY_MS = 1_000
/** Messages among which one that was found must not be. */
const RECENT = 1_000

export function newOutboundPump(deps: AccountDeps & { refused(failure: CallFailure): void }): OutboundPump {
  const { scope, platform, context, ownership, signal, callSignal, fail } = deps
  const { capabilities } = platform
  const { clock } = context.deps
  const budget = newRateBudget(capabilities.pace)
  const busyChats = new Map<string, Promise<void>>()
  const waitingChats = new Set<string>()
  let isRecovered = false
  const rounds = newRounds({
    work: recoverAndStart,
    failed(fault) {
      fail(fault, 'reading the messages to send')
      rounds.wakeIn(RETRY_MS)
    },
    clock,
    signal,
  })

  async function recoverAndStart(): Promise<void> {
    if (!isRecovered) await recoverSending(scope, capabilities, context)
    isRecovered = true
    await startRound()
  }

  /** The first open message of each chat: the others wait for it. */
  async function startRound(): Promise<void> {
    const rows = await openMessages(scope, ROUND, context)
    const first = new Map<string, OutboundRow>()
    for (const row of rows) if (!first.has(row.chatId)) first.set(row.chatId, row)
    waitingChats.clear()
    for (const [chatId, row] of first) {
      waitingChats.add(chatId)
      const waitMs = row.dueAt - clock.now()
      if (busyChats.has(chatId)) continue
      if (waitMs > 0) rounds.wakeIn(Math.min(waitMs, LONGEST_SLEEP_MS))
      else start(chatId, row)
    }
  }

  function start(chatId: string, row: OutboundRow): void {
    // Not in flight here, so the commit of its beginning was reported as failed, and no call was made.
    const done = (row.state === 'sending' ? settleUnsent(row) : sendOne(row))
      .catch((fault) => {
        fail(fault, `sending ${row.key}`)
        return clock.sleep(RETRY_MS, signal)
      })
      .finally(() => {
        busyChats.delete(chatId)
        rounds.wake()
      })
    busyChats.set(chatId, done)
  }

  async function sendOne(row: OutboundRow): Promise<void> {
    for (;;) {
      const waitMs = budget.take(row, clock.now())
      if (waitMs === 0) break
      await clock.sleep(Math.min(waitMs, LONGEST_SLEEP_MS), signal)
      if (signal.aborted) return
    }
    const sending = await beginSend(row, scope, context)
    if (!sending || signal.aborted) return settleUnsent(sending)
    const call = nextCall(sending, capabilities)
    const outcome = await makeCall(sending, call)
    if (outcome.type === 'failed') return afterFailedCall(sending, call, outcome.failure)
    const { messageId, isEarlier = false } = outcome
    // What a former call said may have been revised since, and an edit is harmless. A file is not revised.
    const made = isEarlier && capabilities.edits && !sending.body.file ? 'place' : call
    await settle(sending, afterSuccess(sending, { call: made, messageId, now: clock.now() }))
    if (capabilities.sends === 'blind' && !capabilities.edits) await tellUnknown(sending, scope, context)
  }

  /** The account is lost or the server stops, and no call was made. */
  async function settleUnsent(sending: OutboundRow | undefined): Promise<void> {
    if (sending) await endSend(sending, { ...sending, state: 'pending' }, { scope, context })
  }

  async function makeCall(
    row: OutboundRow,
    call: Call,
  ): Promise<CallOutcome<{ messageId: string; isEarlier?: boolean }>> {
    const address = { chatId: row.chatId, isPrivate: row.isPrivate, ...defined({ thread: row.thread }) }
    const replyTo = defined({ replyTo: row.replyTo })
    const { text, buttons, file: described } = row.body
    const file = call === 'place' ? undefined : described && (await withBytes(described))
    if (file === 'missing') return failedFor('its content is not stored any more')
    const content = { address, text, isPlain: row.isPlain, ...defined({ buttons, file }) }
    switch (call) {
      case 'place':
        if (!ownership.isFresh()) return NOT_MADE
        return platform.place({ address, ...replyTo }, callSignal)
      case 'send':
        if (row.failures > 0 && platform.find) {
          const isTaken = await takenBesides(row)
          const sent = { key: row.key, text, address, since: row.createdAt, isTaken, ...defined({ file: file?.name }) }
          const found = await platform.find(sent, callSignal)
          // Reading changes nothing, so it is repeated like a call that was not made.
          if (found.type === 'failed') return failedToRead(found.failure)
          if (found.messageId !== undefined) return { type: 'done', messageId: found.messageId, isEarlier: true }
        }
        if (!ownership.isFresh()) return NOT_MADE
        return platform.send({ ...content, key: row.key, ...replyTo }, callSignal)
      case 'edit': {
        if (!ownership.isFresh()) return NOT_MADE
        const messageId = row.messageId!
        const key = `${row.key}/${row.version}`
        const edited = await platform.edit({ ...content, messageId, key }, callSignal)
        return edited.type === 'done' ? { type: 'done', messageId } : edited
      }
    }
  }

  async function withBytes({ id, name, mediaType }: OutboundFile): Promise<OutgoingFile | 'missing'> {
    const bytes = await storedBytes(id, scope, context)
    return bytes ? { name, mediaType, bytes } : 'missing'
  }

  async function takenBesides({ number }: OutboundRow): Promise<(messageId: string) => boolean> {
    const rows = await listOutbound({ account: scope.lease.account, limit: RECENT }, context)
    const taken = new Set(rows.filter((each) => each.number !== number).map(({ messageId }) => messageId))
    return (messageId) => taken.has(messageId)
  }

  async function afterFailedCall(row: OutboundRow, call: Call, failure: CallFailure): Promise<void> {
    const now = clock.now()
    if (failure.kind === 'rate-limited') budget.pause(row.chatId, now + (failure.retryAfterMs ?? RETRY_MS))
    if (failure.kind === 'unauthorized') deps.refused(failure)
    const progress = afterFailure(row, { call, failure, now }, capabilities)
    // The chat learns why it does not get the file, in the message that was to be it.
    if (progress.state === 'failed' && row.body.file) await nameUnsent(row, { reason: failure.detail, scope, context })
    await settle(row, progress)
    if (failure.kind === 'moved' && failure.movedTo !== undefined)
      await moveChat(row.chatId, failure.movedTo, { scope, context })
  }

  /** The outcome of a call is known only here until it is stored, so it is kept until that works or another process owns the account. */
  async function settle(row: OutboundRow, progress: ReturnType<typeof afterSuccess>): Promise<void> {
    for (;;) {
      try {
        return await endSend(row, progress, { scope, context })
      } catch (fault) {
        if (fault instanceof LostAccount || signal.aborted) throw fault
        fail(fault, `storing that ${row.key} was sent`)
        await clock.sleep(RETRY_MS, signal)
      }
    }
  }

  async function spare(address: ChatAddress, work: () => Promise<CallOutcome>): Promise<boolean> {
    const { chatId } = address
    if (signal.aborted || busyChats.has(chatId) || waitingChats.has(chatId)) return false
    if (!ownership.isFresh() || !budget.takeSpare(address, clock.now())) return false
    const done = work()
      .then((outcome) => {
        if (outcome.type !== 'failed') return
        const { kind, retryAfterMs } = outcome.failure
        if (kind === 'rate-limited') budget.pause(chatId, clock.now() + (retryAfterMs ?? RETRY_MS))
      })
      .finally(() => {
        busyChats.delete(chatId)
        rounds.wake()
      })
    busyChats.set(chatId, done)
    await done
    return true
  }

  return {
    wake: rounds.wake,
    spare,
    async stop() {
      await rounds.ended()
      await Promise.all(busyChats.values())
    },
  }
}

/** Whether the account is still ours is asked first. */
const NOT_MADE: { type: 'failed'; failure: CallFailure } = {
  type: 'failed',
  failure: { kind: 'stopped', detail: 'the process was paused' },
}

const failedFor = (detail: string): { type: 'failed'; failure: CallFailure } => ({
  type: 'failed',
  failure: { kind: 'too-large', detail },
})

const failedToRead = (failure: CallFailure): { type: 'failed'; failure: CallFailure } => ({
  type: 'failed',
  failure: failure.kind === 'unknown' ? { ...failure, kind: 'unreachable' } : failure,
})

/** A clock may be set back: no wait is longer than this without looking again. */
const LONGEST_SLEEP_MS = 30_000
