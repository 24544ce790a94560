import type { CallFailure } from '../../../../src/core/gateway/send-plan.ts'
import { discordOver } from '../../../../src/gateway/discord/discord.ts'
import { failureOf } from '../../../../src/gateway/discord/errors.ts'
import {
  type ConnectionHandlers,
  type DiscordTransport,
  type Dispatch,
  failed,
} from '../../../../src/gateway/discord/transport.ts'
import type { CallOutcome } from '../../../../src/ports/platform.ts'
import { failure, ROUTES, type RouteAnswer } from '../../../../src/simulator/discord/routes.ts'
import { BOT, GUILD, newWorld, type SimulatedMessage } from '../../../../src/simulator/discord/world.ts'
import type { Kernel } from '../kernel.ts'
import { EPOCH } from '../process.ts'
import {
  COMMON_FAULTS,
  type Host,
  makeCall,
  newOutage,
  newStrikes,
  PEOPLE,
  type SimulatedPlatform,
} from './simulated-platform.ts'

/**
 * `forgotten`: the next resumption is INVALID_SESSION. `invalid`: that is said to a connection that is up. `mute`: no READY.
 * `late`: a send has its effect after the caller has given up. `old-token`: an interaction is 16 minutes old.
 */
export const DISCORD_FAULTS = [
  ...COMMON_FAULTS,
  'cut',
  'forgotten',
  'invalid',
  'mute',
  'late',
  'old-token',
  'deleted',
] as const

type SimulatedSession = { id: string; events: Dispatch[]; connection?: Connection | undefined }
type Connection = {
  host: Host
  handlers: ConnectionHandlers
  session: SimulatedSession | undefined
  isOpen: boolean
  /** Events arrive in their order. */
  waiting: (() => void)[]
}

const LOST: CallFailure = { kind: 'unknown', detail: 'the answer was lost' }
const NEVER_SENT: CallFailure = { kind: 'unreachable', detail: 'no connection' }
const STOPPED: CallFailure = { kind: 'stopped', detail: 'stopped' }
const READY_MS = 15_000
const CALLS_PER_CHANNEL = 5
const WINDOW_MS = 5_000
const CHANNEL = { id: '600000000000000001', type: 0, guild_id: GUILD }
const THREAD = { id: '600000000000000002', type: 11, guild_id: GUILD, parent_id: CHANNEL.id }

/** The simulated Discord of the product on virtual time: sessions that are resumed, and faults in every call. */
export function newSimulatedDiscord(kernel: Kernel, faults: ReadonlySet<string>): SimulatedPlatform {
  const world = newWorld({ now: () => EPOCH + kernel.now() })
  world.channels.set(CHANNEL.id, CHANNEL)
  world.channels.set(THREAD.id, THREAD)
  const { strikes, isOver, end } = newStrikes(kernel, faults)
  const sessions = new Map<string, SimulatedSession>()
  const connections = new Set<Connection>()
  const sent = new Map<string, number[]>()
  const conflicts: number[] = []
  const isDown = newOutage(kernel, () => {
    for (const each of open()) drop(each)
  })
  let nextSession = 1
  let acquainted = 0
  world.onDelivery((type, data) => {
    for (const session of sessions.values()) push(session, type, data)
  })
  void trouble()

  const open = () => [...connections].filter(({ host, isOpen }) => isOpen && host.isAlive())

  async function trouble(): Promise<void> {
    while (!isOver()) {
      await kernel.delay(kernel.between(2_000, 9_000))
      const victim = open()[0]
      if (victim && strikes('cut', 0.4)) drop(victim)
      const mayForget = acquainted === PEOPLE
      if (mayForget && strikes('forgotten', 0.3)) {
        sessions.clear()
        if (victim) drop(victim)
      }
      if (mayForget && victim?.isOpen && strikes('invalid', 0.3)) {
        if (victim.session) sessions.delete(victim.session.id)
        arrive(victim, () => victim.handlers.forgotten())
        identify(victim)
      }
      const shown = world.messages.find(({ author, content }) => author.id === BOT.id && isInterim(content))
      if (shown && strikes('deleted', 0.4)) world.messages.splice(world.messages.indexOf(shown), 1)
    }
  }

  /** In its order, and inside the process. */
  function arrive(connection: Connection, task: () => void): void {
    connection.waiting.push(task)
    kernel.after(kernel.between(1, 30), () =>
      connection.host.inside(() => {
        const next = connection.waiting.shift()
        if (connections.has(connection)) next?.()
      }),
    )
  }

  function push(session: SimulatedSession, type: string, data: Record<string, unknown>): void {
    const event: Dispatch = { type, sequence: session.events.length + 1, data: structuredClone(data) }
    session.events.push(event)
    const { connection } = session
    if (connection?.isOpen) arrive(connection, () => connection.handlers.received(event))
  }

  function identify(connection: Connection): void {
    if (strikes('mute', 0.3)) {
      connection.isOpen = false
      return
    }
    const session: SimulatedSession = { id: `session-${nextSession++}`, events: [], connection }
    kernel.log(`${session.id} begins`)
    sessions.set(session.id, session)
    connection.session = session
    connection.isOpen = true
    note()
    const info = { sessionId: session.id, resumeURL: 'ws://simulated', sequence: 1, shardId: 0, shardCount: 1 }
    arrive(connection, () => connection.handlers.began(info))
    push(session, 'READY', {})
    push(session, 'GUILD_CREATE', { id: GUILD, channels: [CHANNEL], threads: [] })
  }

  function begin(connection: Connection): void {
    const known = connection.handlers.session()
    const session = known && sessions.get(known.sessionId)
    if (!known || !session || known.sequence > session.events.length) {
      if (known) arrive(connection, () => connection.handlers.forgotten())
      identify(connection)
      return
    }
    const { connection: former } = session
    if (former?.isOpen && former !== connection && former.host.isAlive()) {
      conflicts.push(kernel.now())
      drop(former)
    }
    kernel.log(`${session.id} is resumed after ${known.sequence}`)
    session.connection = connection
    connection.session = session
    connection.isOpen = true
    note()
    for (const event of session.events.slice(known.sequence))
      arrive(connection, () => connection.handlers.received(event))
    push(session, 'RESUMED', {})
    arrive(connection, () => connection.handlers.resumed())
  }

  function note(): void {
    if (open().length > 1) conflicts.push(kernel.now())
  }

  /** The library connects again by itself, and resumes from what is committed then. */
  function drop(connection: Connection): void {
    kernel.log(`${connection.session?.id} loses its connection`)
    connection.isOpen = false
    connection.waiting.length = 0
    if (connection.session) connection.session.connection = undefined
    connection.session = undefined
    const retry = () => {
      if (!connections.has(connection) || connection.isOpen || !connection.host.isAlive()) return
      if (isDown()) return void kernel.after(5_000, () => connection.host.inside(retry))
      begin(connection)
    }
    kernel.after(kernel.between(500, 3_000), () => connection.host.inside(retry))
  }

  function transportFor(host: Host): DiscordTransport {
    return {
      call: <T>({ method, path, body, query }: Parameters<DiscordTransport['call']>[0], signal: AbortSignal) =>
        makeCall<CallOutcome<{ result: T }>>(
          {
            host,
            name: `${method} ${path}`,
            signal,
            isSend: isSend(method, path),
            isNew: method === 'POST' && isSend(method, path),
            lost: failed(LOST),
            neverSent: failed(NEVER_SENT),
            aborted: failed(LOST),
            tooMany: (seconds) => failed(tooMany(seconds)),
            nothing: { type: 'done', result: {} as T },
            effect: () => outcomeOf(answerTo(`${method} ${path}`, { body: structuredClone(body ?? {}), query })),
          },
          { kernel, strikes, isDown, isOver },
        ),
      connect: (handlers, signal) =>
        new Promise((resolve) => {
          const connection: Connection = { host, handlers, session: undefined, isOpen: false, waiting: [] }
          const leave = (ended: CallFailure) => {
            connections.delete(connection)
            connection.isOpen = false
            if (connection.session) connection.session.connection = undefined
            resolve(ended)
          }
          signal.addEventListener('abort', () => leave(STOPPED), { once: true })
          kernel.after(kernel.between(1, 60), () =>
            host.inside(() => {
              if (signal.aborted) return
              if (isDown() || strikes('down', 0.03)) return leave(NEVER_SENT)
              connections.add(connection)
              begin(connection)
              const watch = () => {
                if (!connections.has(connection) || !host.isAlive()) return
                if (!connection.isOpen) leave({ kind: 'unknown', detail: 'Discord did not say READY' })
                else kernel.after(READY_MS, () => host.inside(watch))
              }
              kernel.after(READY_MS, () => host.inside(watch))
            }),
          )
        }),
      download: async () => failed({ kind: 'refused', detail: 'there are no files here' }),
    }
  }

  function answerTo(
    name: string,
    { body, query }: { body: object; query: Record<string, string> | undefined },
  ): RouteAnswer {
    if (name === 'GET /applications/@me') return { status: 200, body: { id: BOT.id, flags: 1 << 19 } }
    const channel = /^(?:POST|PATCH) \/channels\/(\d+)\/messages/.exec(name)?.[1]
    const waitS = channel === undefined ? 0 : waitFor(channel)
    if (waitS > 0) return { status: 429, body: { retry_after: waitS } }
    for (const [pattern, answer] of ROUTES) {
      const match = pattern.exec(name)
      if (match)
        return answer(
          match.slice(1),
          { body: body as Record<string, unknown>, query: new URLSearchParams(query) },
          world,
        )
    }
    return failure(404, 0, '404: Not Found')
  }

  function waitFor(channel: string): number {
    const at = world.now()
    const times = (sent.get(channel) ?? []).filter((each) => each > at - WINDOW_MS)
    sent.set(channel, times)
    if (times.length >= CALLS_PER_CHANNEL) return Math.max(0.1, (times[0]! + WINDOW_MS - at) / 1_000)
    times.push(at)
    return 0
  }

  const people = new Map<string, number>()
  const userOf = (person: number) => ({ id: `10000000000000000${person}`, username: `U${person}` })

  return {
    settings: {
      platform: 'discord',
      token: 'simulated',
      access: 'open',
      allow: [],
      groups: { [CHANNEL.id]: { allow: ['*'] } },
      approvers: [],
      busy: 'queue',
      routing: 'per-chat',
      toolsets: {},
    },
    openFor: (host) => async (settings, known) => discordOver(transportFor(host), { settings, known }),
    async introduce(person) {
      const user = userOf(person)
      const isKnown = () => world.messages.some(({ channel, author }) => channel.recipient === user.id && author.bot)
      for (; !isKnown() && !isOver(); await kernel.delay(2_000)) {
        people.set(user.id, person)
        world.say('hi', { user })
      }
      acquainted += 1
    },
    say(text, person, { isPrivate }) {
      const user = userOf(person)
      people.set(user.id, person)
      if (isPrivate || kernel.chance(0.6)) world.say(text, { user })
      else world.say(`<@${BOT.id}> ${text}`, { user, channel: kernel.chance(0.5) ? CHANNEL : THREAD })
    },
    said: () =>
      world.messages
        .filter(({ author }) => author.id === BOT.id)
        .map(({ id, content, versions, buttons }) => ({ id, text: content, versions, counted: [content], buttons })),
    press(id, data) {
      const message = world.messages.find((each) => each.id === id)
      if (!message) return
      const interaction = world.press(message, data, userOf(people.get(message.channel.recipient ?? '') ?? 0))
      if (strikes('old-token', 0.3)) interaction.at -= 16 * 60_000
    },
    conflictsSince: (at) => conflicts.filter((each) => each >= at).length + Math.max(0, open().length - 1),
    endFaults: end,
  }
}

/** A message that is not complete: a moderator may remove it, and the answer must come nevertheless. */
const isInterim = (content: SimulatedMessage['content']): boolean => content === '…' || /▌$|^⏳/.test(content)

const isSend = (method: string, path: string): boolean =>
  (method === 'POST' || method === 'PATCH') && /^\/channels\/\d+\/messages/.test(path)

const tooMany = (seconds: number): CallFailure => ({
  kind: 'rate-limited',
  detail: 'rate limited',
  retryAfterMs: seconds * 1_000,
})

function outcomeOf<T>({ status, body }: RouteAnswer): CallOutcome<{ result: T }> {
  if (status < 300) return { type: 'done', result: structuredClone(body) as T }
  const {
    code = 0,
    message = '',
    retry_after,
  } = (body ?? {}) as { code?: number; message?: string; retry_after?: number }
  if (status === 429) return failed(tooMany(retry_after ?? 1))
  return failed(failureOf({ status, code, message }))
}
