import { defined } from '../../core/defined.ts'
import type { RawUpdate } from '../../core/gateway/incoming.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type { ReceiveOptions } from '../../ports/platform.ts'
import { buttonOf } from './buttons.ts'
import { inviteOf, parseCursor, withInvites, withoutInvite } from './cursor.ts'
import { readHistory } from './history.ts'
import { newJoiner } from './join-rooms.ts'
import {
  type Bot,
  isStored,
  picked,
  rawUpdateOf,
  relationOf,
  STORED_TYPES,
  type StoredEvent,
  type WireEvent,
} from './read-event.ts'
import type { Rooms, WireRoom } from './rooms.ts'
import type { MatrixTransport } from './transport.ts'

export type ReceiveParts = {
  transport: MatrixTransport
  rooms: Rooms
  bot: Bot
  settings: Pick<AccountSettings, 'access' | 'allow' | 'groups'>
}

type Sync = {
  next_batch?: string
  rooms?: {
    join?: Record<string, WireRoom>
    invite?: Record<string, { invite_state?: { events?: WireEvent[] } }>
    leave?: Record<string, object>
  }
}

const POLL_MS = 30_000
const POLL_GRACE_MS = 20_000
const TIMELINE = 100
/** A cursor without new messages is stored this often. */
const STORE_MS = 60_000
/** Clocks of homeservers differ. */
const MARGIN_MS = 60_000
/** Of a room that the bot entered, or after a lost token: more is not read back. */
const MOST_BACK = 2_000

const FILTER = JSON.stringify({
  presence: { types: [] },
  account_data: { types: [] },
  room: {
    account_data: { types: [] },
    ephemeral: { types: [] },
    state: { types: ['m.room.member', 'm.room.name', 'm.room.encryption'], lazy_load_members: true },
    timeline: {
      types: [...STORED_TYPES, 'm.room.member', 'm.room.name'],
      limit: TIMELINE,
      lazy_load_members: true,
    },
  },
})

/** What a homeserver says of a token of `/sync` that it does not know (any more). */
const UNKNOWN_SINCE = /M_UNKNOWN_POS|since|stream token|invalid token|from token/i

/**
 * Receives by `/sync` until a request fails. The token is stored in the commit of what it brought, so what was not committed
 * comes again, and the ids of events make that harmless.
 */
export async function receiveEvents(options: ReceiveOptions, parts: ReceiveParts): Promise<CallFailure> {
  const { commit, alive, now, signal } = options
  const { transport, rooms, bot } = parts
  let cursor = parseCursor(options.cursor)
  let storedAt = Number.NEGATIVE_INFINITY
  const history = { transport, sleep: options.sleep, signal }
  const joiner = newJoiner({
    ...parts,
    now,
    signal,
    gaveUp(room) {
      cursor = withoutInvite(cursor, [room])
    },
  })

  try {
    while (!signal.aborted) {
      joiner.follow(cursor.invites ?? {})
      const synced = await sync()
      if (synced.type === 'failed') return synced.failure
      alive()
      const failure = await store(synced.result)
      if (failure) return failure
    }
  } finally {
    await joiner.stop()
  }
  return { kind: 'stopped', detail: 'stopped' }

  async function sync() {
    const { since } = cursor
    const query = { filter: FILTER, timeout: since === undefined ? '0' : String(POLL_MS), ...defined({ since }) }
    const timeoutMs = POLL_MS + POLL_GRACE_MS
    const synced = await transport.call<Sync>({ method: 'GET', path: '/v3/sync', query, timeoutMs }, signal)
    const isForgotten =
      synced.type === 'failed' && synced.failure.kind === 'refused' && UNKNOWN_SINCE.test(synced.failure.detail)
    if (!isForgotten || since === undefined) return synced
    const { since: _, ...rest } = cursor
    cursor = { ...rest, ...defined({ gap: rest.gap ?? rest.newest }) }
    const asked = { filter: FILTER, timeout: '0' }
    return transport.call<Sync>({ method: 'GET', path: '/v3/sync', query: asked, timeoutMs }, signal)
  }

  async function store({ next_batch: next, rooms: changed = {} }: Sync): Promise<CallFailure | undefined> {
    const { join = {}, invite = {}, leave = {} } = changed
    // What was said before the first connection is not for the bot.
    const isFirst = cursor.since === undefined && cursor.gap === undefined
    const updates: RawUpdate[] = []
    for (const [room, delivered] of Object.entries(join)) {
      rooms.saw(room, delivered)
      if (isFirst) continue
      const failure = await readRoom(room, delivered, updates)
      if (failure) return failure
    }
    for (const room of Object.keys(leave)) rooms.forget(room)
    const invited = Object.entries(invite).flatMap(([room, { invite_state }]) => {
      const found = inviteOf(invite_state?.events ?? [], bot)
      return found ? [[room, found] as const] : []
    })
    const gone = [...Object.keys(join), ...Object.keys(leave)].filter((room) => room in (cursor.invites ?? {}))
    const isWorth = updates.length > 0 || invited.length > 0 || gone.length > 0 || isFirst
    const { gap: _, ...rest } = withInvites(withoutInvite(cursor, gone), Object.fromEntries(invited))
    cursor = { ...rest, ...defined({ since: next, newest: newestOf(updates, cursor.newest ?? now()) }) }
    if (!isWorth && now() - storedAt < STORE_MS) return undefined
    await commit(updates, JSON.stringify(cursor))
    storedAt = now()
    return undefined
  }

  /** The events of a room in their order, with those that the homeserver left out. */
  async function readRoom(
    room: string,
    { timeline = {} }: WireRoom,
    updates: RawUpdate[],
  ): Promise<CallFailure | undefined> {
    const { events = [], limited, prev_batch: before } = timeline
    const isInvited = room in (cursor.invites ?? {})
    const isNew = isInvited || events.some(isOwnEntry)
    const { since, gap, newest } = cursor
    const missing = limited === true ? before : undefined
    if (isNew) return readBack(room, { events, missing, isEnough: (event) => isBegin(event, isInvited) }, updates)
    const isOld = (event: WireEvent) => (event.origin_server_ts ?? 0) < (gap ?? newest ?? 0) - MARGIN_MS
    if (since === undefined) return readBack(room, { events, missing, isEnough: isOld }, updates)
    if (missing === undefined) return take(room, events, updates)
    const failure = await readForward({ room, from: since, to: missing })
    // Not each homeserver takes a token of `/sync` there.
    if (failure?.kind === 'refused') return readBack(room, { events, missing, isEnough: isOld }, updates)
    return failure ?? take(room, events, updates)
  }

  async function readForward(range: { room: string; from: string; to: string }): Promise<CallFailure | undefined> {
    const { room } = range
    let stopped: CallFailure | undefined
    const failure = await readHistory({ ...range, dir: 'f' }, history, async (page) => {
      rooms.saw(room, { state: { events: page.state } })
      const found: RawUpdate[] = []
      stopped = await take(room, page.events, found)
      if (stopped) return 'enough'
      // Each page is a commit: a long gap fills no memory. The token stays, so a crash reads it again.
      if (found.length > 0) await commit(found, undefined)
      return 'more'
    })
    return stopped ?? failure
  }

  /** `missing`: the token before the events that the homeserver left out. `isEnough`: not for the bot, like all before it. */
  type Back = { events: WireEvent[]; missing: string | undefined; isEnough(event: WireEvent): boolean }

  async function readBack(
    room: string,
    { events, missing, isEnough }: Back,
    updates: RawUpdate[],
  ): Promise<CallFailure | undefined> {
    const read = events.toReversed()
    if (missing !== undefined && !read.some(isEnough)) {
      const range = { room, from: missing, dir: 'b' as const }
      const failure = await readHistory(range, history, async (page) => {
        rooms.saw(room, { state: { events: page.state } })
        read.push(...page.events)
        return page.events.some(isEnough) || read.length >= MOST_BACK ? 'enough' : 'more'
      })
      if (failure) return failure
    }
    const end = read.findIndex(isEnough)
    return take(room, read.slice(0, end === -1 ? undefined : end).toReversed(), updates)
  }

  async function take(
    room: string,
    events: readonly WireEvent[],
    updates: RawUpdate[],
  ): Promise<CallFailure | undefined> {
    const said = events.filter((event) => isStored(event, bot))
    if (said.length === 0) return undefined
    const about = await rooms.about(room, signal)
    // A room that the bot has left meanwhile: without its state it counts as a group.
    if (about.type === 'failed' && about.failure.kind !== 'dead-target' && about.failure.kind !== 'refused')
      return about.failure
    const known = about.type === 'done' ? about.room : undefined
    const isPrivate = known !== undefined && known.members <= 2
    for (const event of said) {
      if (isPrivate && !known.isEncrypted && event.sender) rooms.sawPrivately(event.sender, room)
      const press = await pressOf(room, event)
      if (press.type === 'failed') return press.failure
      if (event.type === 'm.reaction' && press.data === undefined) continue
      const stored: StoredEvent = {
        room,
        isPrivate,
        event: picked(event),
        ...defined({ title: known?.title, name: rooms.nameOf(event.sender ?? ''), press: press.data }),
      }
      updates.push(rawUpdateOf(stored, bot))
    }
    return undefined
  }

  /** The button that a reaction means, if it is one to a message of the bot with buttons. */
  async function pressOf(room: string, { type, content = {} }: WireEvent) {
    if (type !== 'm.reaction') return { type: 'done' as const, data: undefined }
    return buttonOf({ room, relation: relationOf(content), bot }, transport, signal)
  }

  /** The bot entered the room; a change of its own name is the same kind of event. */
  function isOwnEntry({ type, state_key, content, unsigned }: WireEvent): boolean {
    const isJoin = type === 'm.room.member' && state_key === bot.id && content?.membership === 'join'
    return isJoin && unsigned?.prev_content?.membership !== 'join'
  }

  /** What was said before the bot was invited, or entered without an invitation, is not for it. */
  function isBegin(event: WireEvent, isInvited: boolean): boolean {
    const { type, state_key, content, unsigned } = event
    if (type !== 'm.room.member' || state_key !== bot.id) return false
    if (content?.membership === 'invite') return true
    return isOwnEntry(event) && !isInvited && unsigned?.prev_content?.membership !== 'invite'
  }
}

function newestOf(updates: readonly RawUpdate[], before: number): number {
  const times = updates.map(({ raw }) => (JSON.parse(raw) as StoredEvent).event.origin_server_ts ?? 0)
  return Math.max(before, ...times)
}
