import type { CallFailure } from '../../../../src/core/gateway/send-plan.ts'
import { telegramOver } from '../../../../src/gateway/telegram/telegram.ts'
import { failed, outcomeOf, type TelegramTransport } from '../../../../src/gateway/telegram/transport.ts'
import type { CallOutcome } from '../../../../src/ports/platform.ts'
import { failure, METHODS, type MethodAnswer } from '../../../../src/simulator/telegram/methods.ts'
import { newRates, TELEGRAM_RATES } from '../../../../src/simulator/telegram/rates.ts'
import { newWorld } from '../../../../src/simulator/telegram/world.ts'
import type { Kernel } from '../kernel.ts'
import type { Host, SimulatedPlatform } from './simulated-platform.ts'

const TOKEN = '4242:simulated'

export const TELEGRAM_FAULTS = ['cut-before', 'cut-after', 'flood', 'down', 'redelivery', 'nothing'] as const

const LOST: CallFailure = { kind: 'unknown', detail: 'the answer was lost' }
const NEVER_SENT: CallFailure = { kind: 'unreachable', detail: 'no connection' }
const SENDING = new Set(['sendMessage', 'editMessageText'])

/** The simulated Telegram of the product on virtual time, with faults in every call. */
export function newSimulatedTelegram(kernel: Kernel, faults: ReadonlySet<string>): SimulatedPlatform {
  const world = newWorld({ now: () => kernel.now() })
  world.addBot(TOKEN)
  const rateOf = newRates(TELEGRAM_RATES, world.now)
  const conflicts: number[] = []
  let poll: { end(answer: MethodAnswer): void } | undefined
  let isOver = false
  const strikes = (fault: string, odds: number) => !isOver && faults.has(fault) && kernel.chance(odds)

  function transportFor(host: Host): TelegramTransport {
    /** The answer reaches the process, unless it died or was cut off. */
    const arrive = <T>(resolve: (value: T) => void, value: T) =>
      void kernel.after(kernel.between(1, 40), () => host.inside(() => resolve(value)))

    return <T>(method: string, payload: object, { signal }: { signal: AbortSignal }) =>
      new Promise<CallOutcome<{ result: T }>>((resolve) => {
        signal.addEventListener('abort', () => resolve(failed({ kind: 'stopped', detail: 'stopped' })), { once: true })
        kernel.after(kernel.between(1, 20), () => {
          if (!host.isAlive()) return
          if (strikes('down', 0.03)) return arrive(resolve, failed(NEVER_SENT))
          if (strikes('cut-before', 0.04)) return arrive(resolve, failed(LOST))
          if (strikes('flood', method === 'editMessageText' ? 0.03 : 0.01))
            return arrive(resolve, outcomeOf<T>(tooMany(kernel.pick([2, 18, 149]))))
          if (method === 'getUpdates') return getUpdates(payload, (answer) => arrive(resolve, toOutcome<T>(answer)))
          const answer = answerTo(method, payload as Record<string, unknown>)
          // The process may die before it learns what Telegram did.
          if (SENDING.has(method) && !isOver && kernel.chance(0.03)) return host.kill(`after ${method} was accepted`)
          if (strikes('cut-after', 0.04)) return arrive(resolve, failed(LOST))
          arrive(resolve, toOutcome<T>(answer))
        })
      })
  }

  function answerTo(method: string, payload: Record<string, unknown>): MethodAnswer {
    if (method === 'deleteWebhook') return { status: 200, body: { ok: true, result: true } }
    if (strikes('nothing', 0.02)) return { status: 200, body: { ok: true, result: true } }
    const waitS = SENDING.has(method) ? rateOf(TOKEN, { id: Number(payload.chat_id) }) : 0
    if (waitS > 0) return failure(429, 'Too Many Requests', { retry_after: waitS })
    const call = METHODS[method]
    return call ? call(payload, { world, bot: world.bots.get(TOKEN)!.user, token: TOKEN }) : failure(404, 'Not Found')
  }

  function getUpdates(payload: object, end: (answer: MethodAnswer) => void): void {
    const { offset, timeout = 0 } = payload as { offset?: number; timeout?: number }
    if (poll) {
      conflicts.push(kernel.now())
      poll.end(failure(409, 'Conflict: terminated by other getUpdates request'))
    }
    const finish = (answer: MethodAnswer) => {
      stopTimer()
      stopListening()
      if (poll === mine) poll = undefined
      end(answer)
    }
    // Telegram may deliver again what was confirmed a moment ago.
    const from = strikes('redelivery', 0.05) ? undefined : offset
    const look = (isLast: boolean) => {
      const result = world.updatesFrom(TOKEN, from, 100)
      if (result.length > 0 || isLast) finish({ status: 200, body: { ok: true, result } })
    }
    const mine = { end: finish }
    poll = mine
    const stopListening = world.listen(() => look(false))
    const stopTimer = kernel.after(timeout * 1_000, () => look(true))
    look(false)
  }

  const userOf = (person: number) => ({ id: 3_000 + person, first_name: `U${person}` })

  return {
    settings: {
      platform: 'telegram',
      token: TOKEN,
      access: 'open',
      allow: [],
      groups: {},
      approvers: [],
      busy: 'queue',
      routing: 'per-chat',
      toolsets: {},
    },
    openFor: (host) => async (settings, known) =>
      telegramOver(transportFor(host), { settings, known, files: 'http://127.0.0.1:9' }),
    say: (text, person) => void world.say(text, { user: userOf(person) }),
    said: () =>
      world.messages
        .filter(({ from }) => from.is_bot)
        .map(({ message_id, text, versions, buttons }) => ({
          id: String(message_id),
          text,
          versions,
          counted: [text, ...versions],
          buttons,
        })),
    press(id, data) {
      const message = world.messages.find(({ message_id }) => String(message_id) === id)
      if (message) world.press(message, data, { id: message.chat.id, first_name: 'Presser' })
    },
    conflictsSince: (at) => conflicts.filter((each) => each >= at).length,
    endFaults() {
      isOver = true
    },
  }
}

const tooMany = (seconds: number) => ({
  error_code: 429,
  description: `Too Many Requests: retry after ${seconds}`,
  parameters: { retry_after: seconds },
})

function toOutcome<T>({ status, body }: MethodAnswer): CallOutcome<{ result: T }> {
  if (status === 200) return { type: 'done', result: body.result as T }
  return outcomeOf<T>(body as never)
}
