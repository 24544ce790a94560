import type { CallOutcome } from '../../ports/platform.ts'
import type { WireEvent } from './read-event.ts'
import { asRead, failed, type MatrixTransport, pathOf, roomPath } from './transport.ts'

/** What only the state of a room says. */
export type Room = {
  members: number
  /** Who they are, in a room of two. */
  pair: readonly string[]
  isEncrypted: boolean
  title: string | undefined
}

export type WireRoom = {
  summary?: { 'm.joined_member_count'?: unknown }
  state?: { events?: WireEvent[] }
  timeline?: { events?: WireEvent[]; limited?: boolean; prev_batch?: string }
}

export type Rooms = ReturnType<typeof newRooms>

const REMEMBERED = 5_000
/** Rooms among which one with a person is looked for. */
const MOST_SEARCHED = 200
/** Types of state that change what is known about a room. */
const ABOUT: ReadonlySet<unknown> = new Set(['m.room.member', 'm.room.name', 'm.room.encryption'])

/** What is known about rooms and people: asked for when it is needed first, and kept until an event changes it. */
export function newRooms({ call }: MatrixTransport) {
  const rooms = new Map<string, Room>()
  const names = new Map<string, string>()
  const direct = new Map<string, string>()

  async function about(room: string, signal: AbortSignal): Promise<CallOutcome<{ room: Room }>> {
    const known = rooms.get(room)
    if (known) return { type: 'done', room: known }
    const [members, title, encryption] = await Promise.all([
      call<{ joined?: object }>({ method: 'GET', path: roomPath(room, 'joined_members') }, signal),
      stateOf<{ name?: unknown }>(room, 'm.room.name', signal),
      stateOf<object>(room, 'm.room.encryption', signal),
    ])
    for (const asked of [members, title, encryption]) if (asked.type === 'failed') return failed(asRead(asked.failure))
    if (members.type === 'failed' || title.type === 'failed' || encryption.type === 'failed')
      throw new Error('unreachable')
    const { name } = title.state ?? {}
    const people = Object.keys(members.result.joined ?? {})
    const found: Room = {
      members: people.length,
      pair: people.length <= 2 ? people : [],
      isEncrypted: encryption.state !== undefined,
      title: typeof name === 'string' && name !== '' ? name : undefined,
    }
    remember(rooms, room, found)
    return { type: 'done', room: found }
  }

  /** Undefined: the room has no such state. */
  async function stateOf<T>(
    room: string,
    type: string,
    signal: AbortSignal,
  ): Promise<CallOutcome<{ state: T | undefined }>> {
    const asked = await call<T>({ method: 'GET', path: roomPath(room, 'state', type) }, signal)
    if (asked.type === 'done') return { type: 'done', state: asked.result }
    return /M_NOT_FOUND/.test(asked.failure.detail) ? { type: 'done', state: undefined } : asked
  }

  return {
    about,

    /** A room as `/sync` delivers it. Names of senders come along. */
    saw(room: string, { summary, state, timeline }: WireRoom): void {
      const stated = state?.events ?? []
      const said = timeline?.events ?? []
      for (const { type, state_key, content } of [...stated, ...said]) {
        const name = content?.displayname
        if (type === 'm.room.member' && state_key !== undefined && typeof name === 'string')
          remember(names, state_key, name)
      }
      // Members in the state are often no change: those of senders come along with their messages.
      const isChanged =
        timeline?.limited === true ||
        stated.some(({ type }) => type !== 'm.room.member' && ABOUT.has(type)) ||
        said.some(({ type }) => ABOUT.has(type))
      const count = summary?.['m.joined_member_count']
      const hasOthers = typeof count === 'number' && count !== rooms.get(room)?.members
      if (isChanged || hasOthers) rooms.delete(room)
    },

    /** This person spoke in a room with the bot alone: there they are reached. */
    sawPrivately: (person: string, room: string): void => remember(direct, person, room),

    forget: (room: string): void => void rooms.delete(room),

    nameOf: (user: string): string | undefined => names.get(user),

    /** The room with this person alone. One is opened if there is none. */
    async directRoom(bot: string, person: string, signal: AbortSignal): Promise<CallOutcome<{ room: string }>> {
      const known = direct.get(person)
      if (known !== undefined) {
        const found = await about(known, signal)
        if (found.type === 'failed' && found.failure.kind !== 'dead-target') return found
        // Others may have entered since.
        if (found.type === 'done' && found.room.members <= 2) return { type: 'done', room: known }
        direct.delete(person)
      }
      const path = pathOf('v3', 'user', bot, 'account_data', 'm.direct')
      const asked = await call<Record<string, string[]>>({ method: 'GET', path }, signal)
      if (asked.type === 'failed' && !/M_NOT_FOUND/.test(asked.failure.detail)) return failed(asRead(asked.failure))
      const listed = asked.type === 'done' ? asked.result : {}
      const joined = await call<{ joined_rooms?: string[] }>({ method: 'GET', path: '/v3/joined_rooms' }, signal)
      if (joined.type === 'failed') return failed(asRead(joined.failure))
      const opened = new Set(listed[person])
      const all = joined.result.joined_rooms ?? []
      for (const room of [...all.filter((each) => opened.has(each)), ...all.slice(-MOST_SEARCHED)]) {
        const found = await about(room, signal)
        if (found.type === 'failed' && found.failure.kind !== 'dead-target') return found
        if (found.type === 'failed' || found.room.isEncrypted || found.room.members > 2) continue
        // One that the bot opened is theirs while the invitation waits, too.
        if (!found.room.pair.includes(person) && !opened.has(room)) continue
        remember(direct, person, room)
        return { type: 'done', room }
      }
      const body = { is_direct: true, preset: 'trusted_private_chat', invite: [person] }
      const created = await call<{ room_id?: string }>({ method: 'POST', path: '/v3/createRoom', body }, signal)
      // An empty room more harms no one.
      if (created.type === 'failed') return failed(asRead(created.failure))
      const room = created.result.room_id
      if (room === undefined) return failed({ kind: 'refused', detail: 'the homeserver opened no room' })
      await call({ method: 'PUT', path, body: { ...listed, [person]: [room, ...(listed[person] ?? [])] } }, signal)
      remember(direct, person, room)
      return { type: 'done', room }
    },
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  const oldest = map.size > REMEMBERED ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
}
