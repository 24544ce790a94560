import type { AccountSettings } from '../../../../src/core/gateway/settings.ts'
import type { OpenPlatform } from '../../../../src/gateway/platforms.ts'
import type { Kernel } from '../kernel.ts'

/** Who talk to the bot on a simulated day. */
export const PEOPLE = 3

/** What can go wrong at any platform. A day has some of it. */
export const COMMON_FAULTS = ['cut-before', 'cut-after', 'flood', 'down', 'nothing'] as const

/** A message of the bot, as people see it. `versions`: all texts it had; `counted`: those that count as said. */
export type Said = {
  id: string
  text: string
  versions: readonly string[]
  counted: readonly string[]
  buttons: readonly { callback_data: string }[]
}

/** The process that calls a platform. */
export type Host = {
  isAlive(): boolean
  /** Runs a task inside the process: not while it is paused, never after its death. */
  inside(task: () => void): void
  kill(why: string): void
}

/** A chat platform on virtual time, with faults. */
export type SimulatedPlatform = {
  settings: AccountSettings
  openFor(host: Host): OpenPlatform
  /** Where a bot cannot find the private chat of a stranger, what it missed of a first message is lost: until it answers. */
  introduce?(person: number): Promise<void>
  /** A person writes, somewhere. `isPrivate`: not in a group. */
  say(text: string, person: number, options: { isPrivate: boolean }): void
  /** Messages of the bot that people can see. */
  said(): Said[]
  /** The person to whom the message was shown presses a button. */
  press(id: string, data: string): void
  /** Moments at which two processes received for one account, since this moment of the simulation. */
  conflictsSince(at: number): number
  endFaults(): void
}

/** What a call answers for, once its faults have struck. */
export type FaultyCall<Outcome> = {
  host: Host
  signal: AbortSignal
  /** Sends or changes a message. */
  isSend: boolean
  /** Sends a new message. */
  isNew: boolean
  name: string
  lost: Outcome
  neverSent: Outcome
  /** Of a call that was aborted. */
  aborted: Outcome
  tooMany(seconds: number): Outcome
  nothing: Outcome
  /** The effect at the platform. */
  effect(): Outcome
}

type Faults = { kernel: Kernel; strikes(fault: string, odds: number): boolean; isDown(): boolean; isOver(): boolean }

/** One call: it may be lost before or after its effect, refused for its rate, or answered by a platform that did nothing. */
export function makeCall<Outcome>(call: FaultyCall<Outcome>, { kernel, strikes, isDown, isOver }: Faults) {
  const { host, signal, isSend, isNew, name, lost, neverSent, aborted, tooMany, nothing, effect } = call
  return new Promise<Outcome>((resolve) => {
    const arrive = (value: Outcome) => void kernel.after(kernel.between(1, 40), () => host.inside(() => resolve(value)))
    signal.addEventListener('abort', () => resolve(aborted), { once: true })
    kernel.after(kernel.between(1, 20), () => {
      if (!host.isAlive()) return
      if (isDown() || strikes('down', 0.03)) return arrive(neverSent)
      if (strikes('cut-before', 0.04)) return arrive(lost)
      if (isSend && strikes('flood', 0.03)) return arrive(tooMany(kernel.pick([2, 18, 149])))
      if (isSend && strikes('nothing', 0.02)) return arrive(nothing)
      // The platform is slow, and the caller has given up.
      if (isNew && strikes('late', 0.03)) {
        kernel.after(kernel.between(500, 20_000), () => void effect())
        return arrive(lost)
      }
      const outcome = effect()
      // The process may die before it learns what the platform did.
      if (isSend && !isOver() && kernel.chance(0.03)) return host.kill(`after ${name} was accepted`)
      arrive(strikes('cut-after', 0.05) ? lost : outcome)
    })
  })
}

/** Long enough for a platform to forget what it recognizes of the calls before. */
const OUTAGE_MS = { least: 200_000, most: 320_000 }

/** Once on some days the platform is gone for minutes, beyond the end of the other faults. */
export function newOutage(kernel: Kernel, begins: () => void): () => boolean {
  if (!kernel.chance(0.3)) return () => false
  const from = kernel.between(8_000, 36_000)
  const until = from + kernel.between(OUTAGE_MS.least, OUTAGE_MS.most)
  kernel.after(from, () => {
    kernel.log('the platform is down')
    begins()
  })
  return () => kernel.now() >= from && kernel.now() < until
}

export const newStrikes = (kernel: Kernel, faults: ReadonlySet<string>) => {
  let isOver = false
  return {
    isOver: () => isOver,
    strikes: (fault: string, odds: number) => !isOver && faults.has(fault) && kernel.chance(odds),
    end() {
      isOver = true
    },
  }
}
