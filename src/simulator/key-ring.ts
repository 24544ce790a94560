import type { KeyState, VendorError } from './script.ts'

export type KeyRing = {
  set(key: string, state: KeyState): void
  forget(key: string): void
  /** Makes a newly issued token valid, if keys are checked at all. */
  admit(key: string): void
  /** The error for a request with this key; undefined if the key is accepted. */
  refusal(key: string | undefined, now: number): VendorError | undefined
  states(): Record<string, KeyState>
  replaceAll(keys: Record<string, KeyState>): void
}

/** States of the known keys. Without any known key, every key is accepted. */
export function newKeyRing(keys: Record<string, KeyState>): KeyRing {
  const states = new Map(Object.entries(keys))
  return {
    set: (key, state) => void states.set(key, state),
    admit(key) {
      if (states.size > 0) states.set(key, 'valid')
    },
    forget: (key) => void states.delete(key),
    states: () => Object.fromEntries(states),
    replaceAll(replacement) {
      states.clear()
      for (const [key, state] of Object.entries(replacement)) states.set(key, state)
    },
    refusal(key, now) {
      if (states.size === 0) return undefined
      const state = key === undefined ? undefined : states.get(key)
      if (state === undefined) return { error: 'invalid-key' }
      return typeof state === 'string' ? REFUSALS[state] : limitedUntil(state.until, now)
    },
  }
}

const REFUSALS: Record<Extract<KeyState, string>, VendorError | undefined> = {
  valid: undefined,
  revoked: { error: 'revoked' },
  expired: { error: 'expired' },
  'out-of-credit': { error: 'insufficient-quota' },
  limited: { error: 'rate-limit' },
}

function limitedUntil(until: number, now: number): VendorError | undefined {
  if (now >= until) return undefined
  return { error: 'rate-limit-with-retry-after', retryAfterSeconds: Math.ceil((until - now) / 1000) }
}

const STATES = ['valid', 'revoked', 'expired', 'out-of-credit', 'limited'] as const
export const KEY_WORDS = `${STATES.join(', ')} or limited:SECONDS`

/** Parses a state as it is written on the command line. */
export function readKeyState(word: string, now: number): KeyState | undefined {
  const seconds = /^limited:(\d+)$/.exec(word)?.[1]
  if (seconds !== undefined) return { state: 'limited', until: now + Number(seconds) * 1000 }
  return STATES.find((state) => state === word)
}
