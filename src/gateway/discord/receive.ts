import { defined } from '../../core/defined.ts'
import type { RawUpdate } from '../../core/gateway/incoming.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ReceiveOptions } from '../../ports/platform.ts'
import { readGap } from './history.ts'
import {
  COMPONENT,
  picked,
  rawUpdateOf,
  type StoredEvent,
  type WireInteraction,
  type WireMessage,
} from './read-event.ts'
import type { ReceiveParts } from './receive-parts.ts'
import { snowflakeAt } from './snowflake.ts'
import type { Dispatch, Session } from './transport.ts'

/**
 * The session with the last committed event, which another process resumes. `newest`: the last message; `gap`: the history
 * after this message is not read yet.
 */
type Cursor = { session?: Session; newest?: string; gap?: string }

/** Events that are no messages move the stored cursor now and then, so that a resumption replays few of them. */
const IGNORED_EVENTS = 200

/** Receives until the connection ends. A session of Discord survives it, so the next one misses nothing. */
export async function receiveEvents(options: ReceiveOptions, parts: ReceiveParts): Promise<CallFailure> {
  const { commit, alive } = options
  const { transport, directory, bot } = parts
  const over = new AbortController()
  const signal = AbortSignal.any([options.signal, over.signal])
  const waiting: Arrived[] = []
  let cursor = parseCursor(options.cursor)
  let failure: CallFailure | undefined
  let fault: { reason: unknown } | undefined
  let draining: Promise<void> | undefined
  let reading: Promise<void> | undefined
  let ignored = 0

  const fail = (reason: unknown) => {
    if (reason instanceof LookupFailed) failure ??= reason.failure
    else fault ??= { reason }
    over.abort()
  }

  function received(dispatch: Dispatch): void {
    alive()
    waiting.push({ ...dispatch, sessionId: cursor.session?.sessionId })
    draining ??= drain()
      .catch(fail)
      .finally(() => {
        draining = undefined
      })
  }

  /** What arrived meanwhile is one commit, with the sequence behind it. Interactions are answered after it. */
  async function drain(): Promise<void> {
    while (waiting.length > 0 && !signal.aborted) {
      const batch = waiting.splice(0)
      const updates: RawUpdate[] = []
      const interactions: WireInteraction[] = []
      for (const dispatch of batch) {
        const stored = await storedOf(dispatch)
        if (!stored) continue
        updates.push(rawUpdateOf(stored, bot))
        if (stored.kind === 'interaction') interactions.push(stored.interaction)
      }
      ignored += batch.length
      const done = { newest: newestOf(updates, cursor.newest), batch }
      if (updates.length > 0 || ignored >= IGNORED_EVENTS) {
        ignored = 0
        await commit(updates, JSON.stringify(after(cursor, done)))
      }
      // The session may be another one by now.
      cursor = after(cursor, done)
      for (const interaction of interactions) void defer(interaction)
    }
  }

  async function storedOf({ type, data }: Dispatch): Promise<StoredEvent | undefined> {
    switch (type) {
      case 'MESSAGE_CREATE': {
        const message = picked(data as unknown as WireMessage)
        if (message.author?.id === bot.id) return undefined
        return { kind: 'message', message, ...(await parentIn(message)) }
      }
      case 'MESSAGE_UPDATE': {
        const message = data as unknown as WireMessage & { edited_timestamp?: string | null }
        // Discord also updates a message when it has loaded a preview.
        if (!message.edited_timestamp || message.author?.id === bot.id) return undefined
        return { kind: 'edited', message: picked(message) }
      }
      case 'INTERACTION_CREATE': {
        const interaction = data as unknown as WireInteraction
        return { kind: 'interaction', interaction: pickedInteraction(interaction), ...(await parentIn(interaction)) }
      }
      case 'GUILD_CREATE':
        for (const channel of [...listOf(data.channels), ...listOf(data.threads)]) directory.saw(channel)
        return undefined
      case 'THREAD_CREATE':
      case 'CHANNEL_CREATE':
        directory.saw(data)
        return undefined
      default:
        return undefined
    }
  }

  async function parentIn({
    channel_id,
    guild_id,
    author,
  }: {
    channel_id?: string
    guild_id?: string
    author?: { id: string }
  }) {
    if (channel_id === undefined) return {}
    if (guild_id === undefined) {
      if (author) directory.sawDirect(author.id, channel_id)
      return {}
    }
    const found = await directory.parentOf(channel_id, signal)
    // As a message of an unknown channel it would be refused: the next connection gets it again.
    if (found.type === 'failed') throw new LookupFailed(found.failure)
    return defined({ parent: found.parent })
  }

  /** Within 3 seconds Discord wants an answer. What follows is said by messages, which no token limits in time. */
  async function defer({ id, token, type }: WireInteraction): Promise<void> {
    const body = type === COMPONENT ? { type: 6 } : { type: 4, data: { content: '⏳', flags: 64 } }
    await transport.call({ method: 'POST', path: `/interactions/${id}/${token}/callback`, body }, signal)
  }

  async function catchUp(): Promise<void> {
    const { gap } = cursor
    if (gap !== undefined) {
      const stopped = await readGap({ ...options, after: gap, signal }, parts, async (messages) => {
        const updates = messages.map((stored) => rawUpdateOf(stored, bot))
        await commit(updates, undefined)
      })
      if (stopped) {
        failure = stopped
        return over.abort()
      }
    }
    if (signal.aborted) return
    const { gap: _, ...read } = cursor
    cursor = { newest: snowflakeAt(options.now()), ...read }
    await commit([], JSON.stringify(cursor))
  }

  const ended = await transport.connect(
    {
      session: () => cursor.session,
      forgotten() {
        const { session: _, ...rest } = cursor
        cursor = rest
      },
      began(session) {
        // Not one that continues: what was said since the last message was not delivered.
        cursor = { ...cursor, session, ...defined({ gap: cursor.gap ?? cursor.newest }) }
        reading = (reading ?? Promise.resolve()).then(catchUp).catch(fail)
      },
      resumed() {
        alive()
        if (cursor.gap !== undefined) reading = (reading ?? Promise.resolve()).then(catchUp).catch(fail)
      },
      received,
      alive,
    },
    signal,
  )
  over.abort()
  await Promise.all([draining, reading])
  if (fault) throw fault.reason
  return failure ?? ended
}

/** A channel could not be asked for. Nothing is wrong here, and the connection begins again. */
class LookupFailed extends Error {
  readonly failure: CallFailure
  constructor(failure: CallFailure) {
    super(failure.detail)
    this.failure = failure
  }
}

type Arrived = Dispatch & { sessionId: string | undefined }

/** The cursor behind these events. Another session counts its events from the start. */
function after(cursor: Cursor, { newest, batch }: { newest: string | undefined; batch: readonly Arrived[] }): Cursor {
  const { session } = cursor
  const own = batch.filter(({ sessionId }) => sessionId === session?.sessionId)
  const sequence = Math.max(session?.sequence ?? 0, ...own.map((each) => each.sequence))
  return { ...cursor, ...defined({ newest, session: session && { ...session, sequence } }) }
}

const listOf = (value: unknown): object[] => (Array.isArray(value) ? value : [])

function newestOf(updates: readonly RawUpdate[], before: string | undefined): string | undefined {
  let newest = before
  for (const { raw } of updates) {
    const { message } = JSON.parse(raw) as { message?: WireMessage }
    if (message && (newest === undefined || BigInt(message.id) > BigInt(newest))) newest = message.id
  }
  return newest
}

function parseCursor(text: string | undefined): Cursor {
  try {
    return text === undefined ? {} : (JSON.parse(text) as Cursor)
  } catch {
    return {}
  }
}

function pickedInteraction(interaction: WireInteraction): WireInteraction {
  const { id, type, token, application_id, channel_id, guild_id, user, member, message, data } = interaction
  return {
    id,
    type,
    token,
    ...defined({
      application_id,
      channel_id,
      guild_id,
      user,
      member: member && defined({ user: member.user, nick: member.nick ?? undefined }),
      message: message && defined({ id: message.id }),
      data: data && defined({ name: data.name, custom_id: data.custom_id, options: data.options }),
    }),
  }
}
