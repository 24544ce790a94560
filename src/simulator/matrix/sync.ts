import { defined } from '../../core/defined.ts'
import { BOT, type MatrixEvent, type SimulatedRoom, type World, wireEvent } from './world.ts'

type Filter = { room?: { timeline?: { types?: string[]; limit?: number }; state?: { types?: string[] } } }

/** Positions of the stream as tokens. Those of another epoch are not known: the homeserver was set back. */
export function newTokens() {
  let epoch = 1
  return {
    of: (position: number): string => `s${epoch}_${position}`,
    /** Undefined: not a token of this homeserver. */
    read(token: string): number | undefined {
      const [, of, position] = /^s(\d+)_(\d+)$/.exec(token) ?? []
      return Number(of) === epoch ? Number(position) : undefined
    },
    forget(): void {
      epoch += 1
    },
  }
}

export type Tokens = ReturnType<typeof newTokens>

type SyncOptions = {
  since: number | undefined
  filter: string | null
  tokens: Tokens
  timelineLimit: number | undefined
}

/** What happened since then for the bot. Undefined: nothing. */
export function syncOf(world: World, { since, filter, tokens, timelineLimit }: SyncOptions): object | undefined {
  const { room: { timeline = {}, state: stateFilter = {} } = {} } = (filter ? JSON.parse(filter) : {}) as Filter
  const limit = Math.min(timeline.limit ?? 10, timelineLimit ?? 100)
  const passes = (types: string[] | undefined) => (event: MatrixEvent) => !types || types.includes(event.type)
  const join: Record<string, object> = {}
  const invite: Record<string, object> = {}
  const leave: Record<string, object> = {}
  for (const room of world.rooms.values()) {
    const own = world.stateOf(room, 'm.room.member', BOT.id)
    if (!own) continue
    const isNews = since === undefined || own.position > since
    if (own.content.membership === 'invite' && isNews)
      invite[room.id] = { invite_state: { events: strippedState(room) } }
    if (own.content.membership === 'leave' && isNews) leave[room.id] = {}
    if (own.content.membership !== 'join') continue
    const hasEntered = since === undefined || joinedAt(room) > since
    const fresh = room.events.filter(({ position }) => hasEntered || position > since!).filter(passes(timeline.types))
    if (fresh.length === 0) continue
    const shown = fresh.slice(-limit)
    const changed = fresh.slice(0, -limit).filter((event) => event.state_key !== undefined)
    const senders = shown.flatMap(({ sender }) => world.stateOf(room, 'm.room.member', sender) ?? [])
    const before = shown[0]!.position - 1
    const state = (hasEntered ? room.events.filter((each) => each.state_key !== undefined) : [...changed, ...senders])
      .filter(passes(stateFilter.types))
      .filter((event) => event.position <= before)
    const hasMembers = hasEntered || fresh.some(({ type }) => type === 'm.room.member')
    join[room.id] = {
      summary: hasMembers ? { 'm.joined_member_count': world.members(room).length } : {},
      state: { events: [...new Set(state)].map(wireEvent) },
      timeline: {
        events: shown.map(wireEvent),
        limited: fresh.length > shown.length,
        prev_batch: tokens.of(before),
      },
    }
  }
  const isEmpty = [join, invite, leave].every((rooms) => Object.keys(rooms).length === 0)
  if (isEmpty && since !== undefined) return undefined
  return { next_batch: tokens.of(world.position()), rooms: { join, invite, leave } }
}

/** When the bot entered the room: a change of its name is another event of the same kind. */
function joinedAt({ events }: SimulatedRoom): number {
  const entry = events.findLast(
    ({ type, state_key, content, unsigned }) =>
      type === 'm.room.member' &&
      state_key === BOT.id &&
      content.membership === 'join' &&
      unsigned?.prev_content?.membership !== 'join',
  )
  return entry?.position ?? 0
}

const STRIPPED = new Set(['m.room.create', 'm.room.name', 'm.room.join_rules', 'm.room.encryption'])

const strippedState = ({ events }: SimulatedRoom): object[] =>
  events
    .filter(({ type, state_key }) => STRIPPED.has(type) || (type === 'm.room.member' && state_key === BOT.id))
    .map(({ type, sender, state_key, content }) => ({ type, sender, state_key, content }))

type PageOptions = { from: number | undefined; to: number | undefined; dir: 'f' | 'b'; limit: number; types?: string[] }

/** A page of the history of a room. */
export function pageOf(
  world: World,
  room: SimulatedRoom,
  { from, to, dir, limit, types, tokens }: PageOptions & { tokens: Tokens },
): object {
  const isForward = dir === 'f'
  const all = room.events
    .filter(({ position }) =>
      isForward
        ? position > (from ?? 0) && position <= (to ?? Number.POSITIVE_INFINITY)
        : position <= (from ?? Number.POSITIVE_INFINITY) && position > (to ?? 0),
    )
    .filter(({ type }) => !types || types.includes(type))
  const ordered = isForward ? all : all.toReversed()
  const chunk = ordered.slice(0, limit)
  const last = chunk.at(-1)
  const end =
    ordered.length > chunk.length && last ? tokens.of(isForward ? last.position : last.position - 1) : undefined
  const senders = new Set(chunk.flatMap(({ sender }) => world.stateOf(room, 'm.room.member', sender) ?? []))
  return { start: 'start', chunk: chunk.map(wireEvent), state: [...senders].map(wireEvent), ...defined({ end }) }
}
