import { defined } from '../../core/defined.ts'
import { pageOf, type Tokens } from './sync.ts'
import { BOT, type SimulatedRoom, type World, wireEvent } from './world.ts'

export type RouteAnswer = { status: number; body: object; headers?: Record<string, string> }

type Asked = {
  body: Record<string, unknown>
  query: URLSearchParams
  tokens: Tokens
  transactions: Map<string, string>
}

type Route = (parts: readonly string[], asked: Asked, world: World) => RouteAnswer

export const failure = (status: number, errcode: string, error: string): RouteAnswer => ({
  status,
  body: { errcode, error },
})
const done = (body: object): RouteAnswer => ({ status: 200, body })

/** A room in which the bot is. */
function withRoom(id: string | undefined, world: World, answer: (room: SimulatedRoom) => RouteAnswer): RouteAnswer {
  const room = world.rooms.get(id ?? '')
  if (!room || world.membershipOf(room, BOT.id) !== 'join')
    return failure(403, 'M_FORBIDDEN', `User ${BOT.id} not in room ${id}`)
  return answer(room)
}

const send: Route = ([id, type = '', transaction = ''], { body, transactions }, world) =>
  withRoom(id, world, (room) => {
    const key = `${id} ${type} ${transaction}`
    const known = transactions.get(key)
    if (known !== undefined) return done({ event_id: known })
    const { event_id } = world.add(room, { type, sender: BOT.id, content: body, transaction })
    transactions.set(key, event_id)
    return done({ event_id })
  })

const messages: Route = ([id], { query, tokens }, world) =>
  withRoom(id, world, (room) => {
    const [from, to] = ['from', 'to'].map((name) => {
      const token = query.get(name)
      return token === null ? undefined : (tokens.read(token) ?? Number.NaN)
    })
    if (Number.isNaN(from) || Number.isNaN(to)) return failure(400, 'M_INVALID_PARAM', 'Invalid from token')
    const { types } = JSON.parse(query.get('filter') ?? '{}') as { types?: string[] }
    const limit = Math.min(100, Number(query.get('limit') ?? 10))
    const dir = query.get('dir') === 'f' ? 'f' : 'b'
    return done(pageOf(world, room, { from, to, dir, limit, tokens, ...defined({ types }) }))
  })

const join: Route = ([id], _, world) => {
  const room = world.rooms.get(id ?? '')
  const membership = room && world.membershipOf(room, BOT.id)
  const isPublic = room && world.stateOf(room, 'm.room.join_rules')?.content.join_rule === 'public'
  if (!room || (membership !== 'invite' && membership !== 'join' && !isPublic))
    return failure(403, 'M_FORBIDDEN', 'You are not invited to this room.')
  if (membership !== 'join') world.join(room, BOT)
  return done({ room_id: id })
}

const createRoom: Route = (_, { body }, world) => {
  const { invite = [] } = body as { invite?: string[] }
  const room = world.openRoom({ by: BOT, invites: invite })
  return done({ room_id: room.id })
}

/** One line for each request that Holdfast makes, after `/_matrix/client`. Ids are decoded. */
export const ROUTES: readonly [pattern: RegExp, route: Route][] = [
  [/^GET \/versions$/, () => done({ versions: ['v1.11', 'v1.12'] })],
  [/^GET \/v3\/account\/whoami$/, () => done({ user_id: BOT.id, device_id: 'SIMULATED', is_guest: false })],
  [/^PUT \/v3\/rooms\/([^/]+)\/send\/([^/]+)\/([^/]+)$/, send],
  [/^GET \/v3\/rooms\/([^/]+)\/messages$/, messages],
  [
    /^GET \/v3\/rooms\/([^/]+)\/joined_members$/,
    ([id], _, world) =>
      withRoom(id, world, (room) => {
        const joined = world.members(room).map((user) => [user, { display_name: world.names.get(user) }])
        return done({ joined: Object.fromEntries(joined) })
      }),
  ],
  [
    /^GET \/v3\/rooms\/([^/]+)\/state\/([^/]+)\/?$/,
    ([id, type = ''], _, world) =>
      withRoom(id, world, (room) => {
        const state = world.stateOf(room, type)
        return state ? done(state.content) : failure(404, 'M_NOT_FOUND', 'Event not found.')
      }),
  ],
  [
    /^GET \/v3\/rooms\/([^/]+)\/event\/([^/]+)$/,
    ([id, event], _, world) =>
      withRoom(id, world, (room) => {
        const found = room.events.find(({ event_id }) => event_id === event)
        return found ? done(wireEvent(found)) : failure(404, 'M_NOT_FOUND', 'Event not found.')
      }),
  ],
  [/^PUT \/v3\/rooms\/([^/]+)\/typing\/([^/]+)$/, ([id], _, world) => withRoom(id, world, () => done({}))],
  [
    /^GET \/v3\/joined_rooms$/,
    (_, __, world) => {
      const rooms = [...world.rooms.values()].filter((room) => world.membershipOf(room, BOT.id) === 'join')
      return done({ joined_rooms: rooms.map(({ id }) => id) })
    },
  ],
  [/^POST \/v3\/join\/([^/]+)$/, join],
  [/^POST \/v3\/createRoom$/, createRoom],
  [
    /^GET \/v3\/user\/([^/]+)\/account_data\/([^/]+)$/,
    ([, type = ''], _, world) => {
      const value = world.accountData.get(type)
      return value === undefined ? failure(404, 'M_NOT_FOUND', 'Account data not found') : done(value as object)
    },
  ],
  [
    /^PUT \/v3\/user\/([^/]+)\/account_data\/([^/]+)$/,
    ([, type = ''], { body }, world) => {
      world.accountData.set(type, body)
      return done({})
    },
  ],
]
