import type { CallFailure } from '../../../../src/core/gateway/send-plan.ts'
import { failureOf } from '../../../../src/gateway/matrix/errors.ts'
import { matrixOver } from '../../../../src/gateway/matrix/matrix.ts'
import { failed, type MatrixRequest, type MatrixTransport } from '../../../../src/gateway/matrix/transport.ts'
import type { CallOutcome } from '../../../../src/ports/platform.ts'
import { failure, ROUTES, type RouteAnswer } from '../../../../src/simulator/matrix/routes.ts'
import { newTokens, syncOf } from '../../../../src/simulator/matrix/sync.ts'
import { BOT, newWorld, SERVER } from '../../../../src/simulator/matrix/world.ts'
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
 * `gap`: the homeserver leaves events out. `position`: it forgets its tokens of `/sync`. `transactions`: it forgets which
 * sends it knows.
 */
export const MATRIX_FAULTS = [...COMMON_FAULTS, 'late', 'gap', 'position', 'transactions'] as const

const LOST: CallFailure = { kind: 'unknown', detail: 'the answer was lost' }
const NEVER_SENT: CallFailure = { kind: 'unreachable', detail: 'no connection' }

type Outcome<T> = CallOutcome<{ result: T }>

/** The simulated homeserver of the product on virtual time, with faults in every call. */
export function newSimulatedMatrix(kernel: Kernel, faults: ReadonlySet<string>): SimulatedPlatform {
  const world = newWorld({ now: () => EPOCH + kernel.now() })
  const tokens = newTokens()
  const transactions = new Map<string, string>()
  const { strikes, isOver, end } = newStrikes(kernel, faults)
  const isDown = newOutage(kernel, () => restart())
  let starts = 0
  const conflicts: number[] = []
  const polling = new Set<Host>()
  const userOf = (person: number) => ({ id: `@u${person}:${SERVER}`, name: `U${person}` })
  const people = Array.from({ length: PEOPLE }, (_, person) => userOf(person))
  const team = world.openRoom({ by: people[0]!, people: people.slice(1), name: 'team' })
  void trouble()

  /** Requests that wait in a homeserver end with it. */
  function restart(): void {
    transactions.clear()
    starts += 1
  }

  async function trouble(): Promise<void> {
    while (!isOver()) {
      await kernel.delay(kernel.between(2_000, 9_000))
      if (strikes('position', 0.2)) tokens.forget()
      if (strikes('transactions', 0.5)) restart()
    }
  }

  const toOutcome = <T>({ status, body }: RouteAnswer): Outcome<T> =>
    status === 200 ? { type: 'done', result: body as T } : failed(failureOf({ status, body, retryAfter: null }))

  function route({ method, path, query, body = {} }: MatrixRequest): RouteAnswer {
    for (const [pattern, answerOf] of ROUTES) {
      const match = pattern.exec(`${method} ${path}`)
      if (!match) continue
      const asked = { body: structuredClone(body) as Record<string, unknown>, query: new URLSearchParams(query) }
      return answerOf(match.slice(1).map(decodeURIComponent), { ...asked, tokens, transactions }, world)
    }
    return failure(404, 'M_UNRECOGNIZED', 'Unrecognized request')
  }

  function sync<T>({ query = {} }: MatrixRequest, { host, signal }: { host: Host; signal: AbortSignal }) {
    return new Promise<Outcome<T>>((resolve) => {
      let isEnded = false
      const finish = (outcome: Outcome<T>) => {
        if (isEnded) return
        isEnded = true
        polling.delete(host)
        stopTimer()
        stopListening()
        kernel.after(kernel.between(1, 40), () => host.inside(() => resolve(outcome)))
      }
      const look = (isLast: boolean) => {
        if (!host.isAlive()) return finish(failed(LOST))
        if (isDown() || strikes('down', 0.02)) return finish(failed(NEVER_SENT))
        const since = query.since === undefined ? undefined : tokens.read(query.since)
        if (query.since !== undefined && since === undefined)
          return finish(toOutcome<T>(failure(400, 'M_UNKNOWN', 'Invalid stream token')))
        const timelineLimit = strikes('gap', 0.3) ? 1 : undefined
        const news = syncOf(world, { since, filter: query.filter ?? null, tokens, timelineLimit })
        if (!news && !isLast) return
        if (strikes('cut-after', 0.05)) return finish(failed(LOST))
        finish({ type: 'done', result: (news ?? { next_batch: tokens.of(world.position()) }) as T })
      }
      if ([...polling].some((other) => other !== host && other.isAlive())) conflicts.push(kernel.now())
      polling.add(host)
      let stopTimer = () => {}
      let stopListening = () => {}
      stopTimer = kernel.after(Number(query.timeout ?? 0), () => look(true))
      stopListening = world.listen(() => look(false))
      signal.addEventListener('abort', () => finish(failed({ kind: 'stopped', detail: 'stopped' })), { once: true })
      look(false)
    })
  }

  function transportFor(host: Host): MatrixTransport {
    return {
      call<T>(request: MatrixRequest, signal: AbortSignal) {
        if (request.path === '/v3/sync') return sync<T>(request, { host, signal })
        const startsBefore = starts
        const isSend = request.path.includes('/send/m.room.message/')
        return makeCall<Outcome<T>>(
          {
            host,
            name: `${request.method} ${request.path.slice(0, 20)}`,
            signal,
            isSend,
            isNew: isSend && !('m.new_content' in (request.body ?? {})),
            lost: failed(LOST),
            neverSent: failed(NEVER_SENT),
            aborted: failed(LOST),
            tooMany: (seconds) =>
              failed({ kind: 'rate-limited', detail: 'rate limited', retryAfterMs: seconds * 1_000 }),
            nothing: { type: 'done', result: {} as T },
            effect: () => (starts === startsBefore ? toOutcome<T>(route(request)) : failed(LOST)),
          },
          { kernel, strikes, isDown, isOver },
        )
      },
      download: async () => failed({ kind: 'refused', detail: 'no files' }),
    }
  }

  const settings = {
    platform: 'matrix' as const,
    access: 'open' as const,
    allow: [],
    groups: { [team.id]: { allow: ['*'] } },
    approvers: [],
    busy: 'queue' as const,
    routing: 'per-chat' as const,
    toolsets: {},
  }
  const buttonsOf = (room: string, id: string) => {
    const event = world.rooms.get(room)?.events.find(({ event_id }) => event_id === id)
    const signs = Object.keys((event?.content['dev.holdfast.buttons'] as object | undefined) ?? {})
    return signs.map((sign) => ({ callback_data: sign }))
  }

  return {
    settings,
    openFor: (host) => async (given, known) => matrixOver(transportFor(host), { settings: given, known }),
    say(text, person, { isPrivate }) {
      const user = userOf(person)
      if (isPrivate || kernel.chance(0.6)) world.say(text, { user })
      else world.say(text, { user, room: team, mentions: true })
    },
    said: () =>
      world.messages
        .filter(({ sender }) => sender === BOT.id)
        .map(({ id, room, text, versions }) => ({
          id,
          text,
          versions,
          counted: [text, ...versions],
          buttons: buttonsOf(room, id),
        })),
    press(id, data) {
      const message = world.messages.find((each) => each.id === id)
      const room = message && world.rooms.get(message.room)
      const person = room && world.members(room).find((user) => user !== BOT.id)
      if (message && person !== undefined) world.react(message, data, { id: person, name: 'Presser' })
    },
    conflictsSince: (at) => conflicts.filter((each) => each >= at).length,
    endFaults: end,
  }
}
