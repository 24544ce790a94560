import { defined } from '../../core/defined.ts'

export type MatrixEvent = {
  event_id: string
  room_id: string
  type: string
  sender: string
  origin_server_ts: number
  content: Record<string, unknown>
  state_key?: string
  unsigned?: { prev_content?: Record<string, unknown>; transaction_id?: string }
  /** Its place in the stream of the homeserver. */
  position: number
}

export type SimulatedUser = { id: string; name: string }

export type SimulatedRoom = { id: string; events: MatrixEvent[] }

/** A message as people see it now. `versions` are all texts it had. */
export type SimulatedMessage = {
  id: string
  room: string
  sender: string
  text: string
  html?: string
  versions: string[]
  thread?: string
  replyTo?: string
  at: number
  /** Signs with which the bot reacted to it. */
  offered: string[]
}

/** One call of a bot, with its effect and whether its answer reached the bot. */
export type SimulatedCall = {
  at: number
  method: string
  path: string
  body: Record<string, unknown>
  isAccepted: boolean
  isAnswered: boolean
  status: number
}

type SayOptions = {
  user?: SimulatedUser
  room?: SimulatedRoom
  /** Mentions the bot as clients do. */
  mentions?: boolean
  /** The root of a thread, or a message that is answered. */
  thread?: string
  replyTo?: string
  /** Instead of a text message. */
  content?: Record<string, unknown>
  type?: string
}

export const SERVER = 'simulated.example'
export const BOT: SimulatedUser = { id: `@holdfast:${SERVER}`, name: 'Holdfast' }
export const ADA: SimulatedUser = { id: `@ada:${SERVER}`, name: 'Ada' }

/** The state of a simulated homeserver with one bot. */
export function newWorld({ now = Date.now }: { now?: () => number } = {}) {
  const rooms = new Map<string, SimulatedRoom>()
  const calls: SimulatedCall[] = []
  const media = new Map<string, Uint8Array>()
  const accountData = new Map<string, unknown>()
  const messages: SimulatedMessage[] = []
  const names = new Map<string, string>([
    [BOT.id, BOT.name],
    [ADA.id, ADA.name],
  ])
  const listeners = new Set<() => void>()
  const direct = new Map<string, SimulatedRoom>()
  let position = 0
  let count = 0

  const changed = (): void => {
    for (const listener of [...listeners]) listener()
  }

  const stateOf = ({ events }: SimulatedRoom, type: string, key = ''): MatrixEvent | undefined =>
    events.findLast((event) => event.type === type && event.state_key === key)

  const membershipOf = (room: SimulatedRoom, user: string): unknown =>
    stateOf(room, 'm.room.member', user)?.content.membership

  const members = (room: SimulatedRoom): string[] => {
    const users = new Set(room.events.flatMap(({ type, state_key }) => (type === 'm.room.member' ? [state_key!] : [])))
    return [...users].filter((user) => membershipOf(room, user) === 'join')
  }

  type Fields = Pick<MatrixEvent, 'type' | 'sender' | 'content'> & { state_key?: string; transaction?: string }

  function add(room: SimulatedRoom, { transaction, ...fields }: Fields): MatrixEvent {
    const before = fields.state_key === undefined ? undefined : stateOf(room, fields.type, fields.state_key)
    position += 1
    const event: MatrixEvent = {
      event_id: `$event${position}:${SERVER}`,
      room_id: room.id,
      origin_server_ts: now(),
      position,
      unsigned: defined({ prev_content: before?.content, transaction_id: transaction }),
      ...fields,
    }
    room.events.push(event)
    show(event)
    changed()
    return event
  }

  /** Keeps what people see. */
  function show({ event_id: id, room_id: room, sender, type, content, origin_server_ts: at }: MatrixEvent): void {
    const relation = (content['m.relates_to'] ?? {}) as Relation
    const of = messages.find((message) => message.id === relation.event_id)
    if (type === 'm.reaction' && of && sender === BOT.id && relation.key !== undefined) of.offered.push(relation.key)
    if (type !== 'm.room.message') return
    if (relation.rel_type === 'm.replace') {
      const next = content['m.new_content'] as { body: string; formatted_body?: string } | undefined
      if (!of || !next || of.sender !== sender) return
      of.text = next.body
      delete of.html
      Object.assign(of, defined({ html: next.formatted_body }))
      of.versions.push(next.body)
      return
    }
    const text = String(content.body ?? '')
    messages.push({
      id,
      room,
      sender,
      text,
      versions: [text],
      at,
      offered: [],
      ...defined({
        html: content.formatted_body as string | undefined,
        thread: relation.rel_type === 'm.thread' ? relation.event_id : undefined,
        replyTo: relation['m.in_reply_to']?.event_id,
      }),
    })
  }

  function join(room: SimulatedRoom, { id, name }: SimulatedUser): void {
    names.set(id, name)
    const content = { membership: 'join', displayname: name }
    add(room, { type: 'm.room.member', sender: id, state_key: id, content })
  }

  const invite = (room: SimulatedRoom, user: string, by: string): MatrixEvent =>
    add(room, { type: 'm.room.member', sender: by, state_key: user, content: { membership: 'invite' } })

  type NewRoom = {
    by?: SimulatedUser
    people?: SimulatedUser[]
    name?: string
    isEncrypted?: boolean
    isPublic?: boolean
    /** People and bots that are invited. */
    invites?: string[]
  }

  /** A person opens a room, and invites the bot. */
  function openRoom({ by = ADA, people = [], name, isEncrypted, isPublic, invites = [BOT.id] }: NewRoom = {}) {
    count += 1
    const room: SimulatedRoom = { id: `!room${count}:${SERVER}`, events: [] }
    rooms.set(room.id, room)
    const state = (type: string, content: object) =>
      add(room, { type, sender: by.id, state_key: '', content: content as Record<string, unknown> })
    state('m.room.create', { room_version: '11' })
    join(room, by)
    state('m.room.join_rules', { join_rule: isPublic ? 'public' : 'invite' })
    if (name !== undefined) state('m.room.name', { name })
    if (isEncrypted) state('m.room.encryption', { algorithm: 'm.megolm.v1.aes-sha2' })
    for (const person of people) join(room, person)
    for (const user of invites) invite(room, user, by.id)
    return room
  }

  /** The room of a person with the bot; opened with the first words. */
  function directRoom(user: SimulatedUser = ADA): SimulatedRoom {
    const known = direct.get(user.id)
    if (known) return known
    const room = openRoom({ by: user })
    direct.set(user.id, room)
    return room
  }

  /** A person writes. */
  function say(text: string, options: SayOptions = {}): MatrixEvent {
    const { user = ADA, room = directRoom(user), mentions = false, thread, replyTo, content, type } = options
    const relation =
      thread === undefined
        ? replyTo === undefined
          ? undefined
          : { 'm.in_reply_to': { event_id: replyTo } }
        : { rel_type: 'm.thread', event_id: thread }
    const body = mentions ? `${BOT.name}: ${text}` : text
    return add(room, {
      type: type ?? 'm.room.message',
      sender: user.id,
      content: content ?? {
        msgtype: 'm.text',
        body,
        'm.mentions': mentions ? { user_ids: [BOT.id] } : {},
        ...defined({
          format: mentions ? 'org.matrix.custom.html' : undefined,
          formatted_body: mentions ? `<a href="https://matrix.to/#/${BOT.id}">${BOT.name}</a>: ${text}` : undefined,
          'm.relates_to': relation,
        }),
      },
    })
  }

  return {
    rooms,
    calls,
    media,
    accountData,
    messages,
    names,
    now,
    changed,
    add,
    stateOf,
    membershipOf,
    members,
    join,
    invite,
    openRoom,
    directRoom,
    say,
    position: () => position,
    /** A person reacts to a message, which is how a button is pressed. */
    react: (message: Pick<SimulatedMessage, 'id' | 'room'>, key: string, user: SimulatedUser = ADA) =>
      add(rooms.get(message.room)!, {
        type: 'm.reaction',
        sender: user.id,
        content: { 'm.relates_to': { rel_type: 'm.annotation', event_id: message.id, key } },
      }),
    listen(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

type Relation = { rel_type?: string; event_id?: string; key?: string; 'm.in_reply_to'?: { event_id?: string } }

export type World = ReturnType<typeof newWorld>

export function wireEvent({ position: _, ...event }: MatrixEvent): Omit<MatrixEvent, 'position'> {
  return event
}
