import type { CallFailure } from '../../../../src/core/gateway/send-plan.ts'
import { failureOf } from '../../../../src/gateway/slack/errors.ts'
import { slackOver } from '../../../../src/gateway/slack/slack.ts'
import { type ConnectionHandlers, failed, type SlackTransport } from '../../../../src/gateway/slack/transport.ts'
import type { CallOutcome } from '../../../../src/ports/platform.ts'
import { METHODS } from '../../../../src/simulator/slack/methods.ts'
import { newRates, SLACK_RATES } from '../../../../src/simulator/slack/rates.ts'
import { BOT, newWorld, type Pending, type SimulatedMessage } from '../../../../src/simulator/slack/world.ts'
import type { Kernel } from '../kernel.ts'
import { EPOCH } from '../process.ts'
import {
  COMMON_FAULTS,
  type Host,
  makeCall,
  newOutage,
  newStrikes,
  type SimulatedPlatform,
} from './simulated-platform.ts'

/**
 * `twice`: a mention arrives as `message` and as `app_mention`. `refresh` and `cut`: connections end, with and without a word.
 * `expired`: a native stream is over. `deleted`: a person removes a message.
 */
export const SLACK_FAULTS = [...COMMON_FAULTS, 'ack-lost', 'refresh', 'cut', 'twice', 'expired', 'deleted'] as const

type Connection = {
  host: Host
  handlers: ConnectionHandlers
  end(ended: 'refresh' | CallFailure): void
}

const LOST: CallFailure = { kind: 'unknown', detail: 'the answer was lost' }
const NEVER_SENT: CallFailure = { kind: 'unreachable', detail: 'no connection' }
const STOPPED: CallFailure = { kind: 'stopped', detail: 'stopped' }
const SENDING = new Set(['chat.postMessage', 'chat.update', 'chat.startStream'])
const ACKNOWLEDGE_MS = 3_000
const CHANNEL = { id: 'C0000TEAM', name: 'team' }

/** The simulated Slack of the product on virtual time: Socket Mode with its retries, and faults in every call. */
export function newSimulatedSlack(kernel: Kernel, faults: ReadonlySet<string>): SimulatedPlatform {
  const world = newWorld({ now: () => EPOCH + kernel.now() })
  const rateOf = newRates(SLACK_RATES, world.now)
  const { strikes, isOver, end } = newStrikes(kernel, faults)
  const connections = new Set<Connection>()
  const again: Pending[] = []
  const conflicts: number[] = []
  const isDown = newOutage(kernel, () => cutAll())
  world.onDelivery((event) => deliver(event))
  void trouble()

  const open = () => [...connections].filter(({ host }) => host.isAlive())

  function cutAll(): void {
    for (const each of open()) each.end({ kind: 'unknown', detail: 'the connection to Slack was closed' })
  }

  async function trouble(): Promise<void> {
    while (!isOver()) {
      await kernel.delay(kernel.between(2_000, 9_000))
      const victim = open()[0]
      if (victim && strikes('refresh', 0.4)) victim.end('refresh')
      else if (victim && strikes('cut', 0.4)) victim.end({ kind: 'unknown', detail: 'the connection was closed' })
      const shown = world.messages.find((message) => message.isBot && isInterim(message))
      if (shown && strikes('deleted', 0.4)) world.remove(shown)
    }
  }

  /** Any connection may get an event. Without one it is lost, unless it was delivered before. */
  function deliver(event: Pending): void {
    const possible = open()
    if (possible.length > 1) conflicts.push(kernel.now())
    if (possible.length === 0) {
      if (event.isDelivered) again.push(event)
      return
    }
    const { host, handlers } = kernel.pick(possible)
    event.isDelivered = true
    const next = { ...event, attempt: event.attempt + 1 }
    const stop = kernel.after(ACKNOWLEDGE_MS, () => deliver(next))
    const acknowledge = async () => {
      if (!strikes('ack-lost', 0.15)) kernel.after(kernel.between(1, 20), stop)
    }
    const { type, payload } = event
    kernel.after(kernel.between(1, 30), () =>
      host.inside(() => handlers.received({ type, body: structuredClone(payload), acknowledge })),
    )
  }

  function transportFor(host: Host): SlackTransport {
    return {
      call: <T>(method: string, payload: object, signal: AbortSignal) =>
        makeCall<CallOutcome<{ result: T }>>(
          {
            host,
            name: method,
            // Its own limit is in real time.
            signal: method === 'users.info' ? new AbortController().signal : signal,
            isSend: SENDING.has(method),
            // Slack could not tell it from a lost one.
            isNew: false,
            lost: failed(LOST),
            neverSent: failed(NEVER_SENT),
            aborted: failed(LOST),
            tooMany: (seconds) => failed(tooMany(seconds)),
            nothing: { type: 'done', result: { ok: true } as T },
            effect: () => answerTo(method, structuredClone(payload) as Record<string, unknown>),
          },
          { kernel, strikes, isDown, isOver },
        ),
      connect: (handlers, signal) =>
        new Promise((resolve) => {
          const connection: Connection = {
            host,
            handlers,
            end(ended) {
              connections.delete(connection)
              kernel.after(kernel.between(1, 40), () => host.inside(() => resolve(ended)))
            },
          }
          const leave = () => {
            connections.delete(connection)
            resolve(STOPPED)
          }
          signal.addEventListener('abort', leave, { once: true })
          kernel.after(kernel.between(1, 60), () => {
            if (!host.isAlive() || signal.aborted) return
            if (isDown() || strikes('down', 0.03)) return connection.end(NEVER_SENT)
            connections.add(connection)
            if (open().length > 1) conflicts.push(kernel.now())
            host.inside(() => handlers.opened())
            for (const event of again.splice(0)) deliver(event)
          })
        }),
      download: async () => failed({ kind: 'refused', detail: 'there are no files here' }),
      upload: async () => failed({ kind: 'refused', detail: 'there are no files here' }),
    }
  }

  function answerTo<T>(method: string, payload: Record<string, unknown>): CallOutcome<{ result: T }> {
    const wait = rateOf(method, payload)
    if (wait > 0) return failed(tooMany(wait))
    if (method === 'chat.appendStream' && strikes('expired', 0.2))
      for (const message of world.messages) if (message.ts === payload.ts) message.isStreaming = false
    const { body } = METHODS[method]!(payload, world)
    return body.ok === true ? { type: 'done', result: body as T } : failed(failureOf(body as { error: string }))
  }

  const people = new Map<string, number>()
  const userOf = (person: number) => ({ id: `U000000${person}`, name: `U${person}` })

  return {
    settings: {
      platform: 'slack',
      token: 'xoxb-simulated',
      appToken: 'xapp-simulated',
      access: 'open',
      allow: [],
      groups: { [CHANNEL.id]: { allow: ['*'] } },
      approvers: [],
      busy: 'queue',
      routing: 'per-chat',
      toolsets: {},
    },
    openFor: (host) => async (settings, known) => slackOver(transportFor(host), { settings, known }),
    say(text, person, { isPrivate }) {
      const user = userOf(person)
      people.set(world.directChannel(user).id, person)
      const isTwice = faults.has('twice')
      if (isPrivate || kernel.chance(0.6)) world.say(text, { user })
      else world.say(`<@${BOT.id}> ${text}`, { user, channel: CHANNEL, isTwice })
    },
    said: () =>
      world.messages
        .filter(({ isBot, onlyFor }) => isBot && onlyFor === undefined)
        .map(({ ts, text, versions, buttons }) => ({ id: ts, text, versions, counted: [text], buttons })),
    press(id, data) {
      const message = world.messages.find(({ ts }) => ts === id)
      if (message) world.press(message, data, userOf(people.get(message.channel) ?? 0))
    },
    conflictsSince: (at) => conflicts.filter((each) => each >= at).length + Math.max(0, open().length - 1),
    endFaults: end,
  }
}

/** A message that is not complete: a person may remove it, and the answer must come nevertheless. */
const isInterim = ({ text, isStreaming }: SimulatedMessage): boolean =>
  isStreaming === true || text === '…' || /▌$|^⏳/.test(text)

const tooMany = (seconds: number): CallFailure => ({
  kind: 'rate-limited',
  detail: 'ratelimited',
  retryAfterMs: seconds * 1_000,
})
