import { signal } from '@preact/signals'
import { pause, readEvents, StreamRefused } from './api.ts'
import { wantsNotifications } from './notifications.ts'
import { present } from './times.ts'
import { untilVisible } from './visibility.ts'

export type Change = {
  kind: string
  id: string
  agent_id?: string
  conversation_id?: string
  verb: 'created' | 'changed' | 'deleted'
}

/** `reload`: changes were missed, so every list is fetched again. */
type Listener = (changes: readonly Change[] | 'reload') => void

export type Connection = { state: 'connecting' | 'live' | 'resting' } | { state: 'lost'; since: number }

export const connection = signal<Connection>({ state: 'connecting' })

const listeners = new Set<Listener>()
const BACKOFF_MS = [250, 500, 1_000, 2_000, 5_000]

let stop: AbortController | undefined
let position: string | undefined

/** One stream of changes for the whole tab. A hidden tab rests, and catches up when it is looked at again. */
export function startFeed(): void {
  if (stop) return
  stop = new AbortController()
  void follow(stop.signal)
  document.addEventListener('visibilitychange', onVisibility)
}

export function stopFeed(): void {
  stop?.abort()
  stop = undefined
  position = undefined
  document.removeEventListener('visibilitychange', onVisibility)
}

export function onChanges(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

let resting: AbortController | undefined

function onVisibility(): void {
  if (mayRest()) resting?.abort()
}

/** A person who asked to be notified looks elsewhere: their tab listens on. */
const mayRest = () => document.hidden && !wantsNotifications()

async function follow(ended: AbortSignal): Promise<void> {
  let failures = 0
  let lostSince: number | undefined
  while (!ended.aborted) {
    if (mayRest()) {
      connection.value = { state: 'resting' }
      await untilVisible(ended)
      continue
    }
    resting = new AbortController()
    try {
      const query = position === undefined ? '' : `?after=${encodeURIComponent(position)}`
      for await (const { name, data } of readEvents(`/v1/changes${query}`, AbortSignal.any([ended, resting.signal]))) {
        failures = 0
        // A reconnection without a position, after the very first one, may have missed changes.
        const missed = lostSince !== undefined && position === undefined
        lostSince = undefined
        connection.value = { state: 'live' }
        const event = JSON.parse(data) as { position: string; changes?: Change[] }
        position = event.position
        if (name === 'reload' || missed) tell('reload')
        else if (event.changes && event.changes.length > 0) tell(event.changes)
      }
    } catch (fault) {
      if (fault instanceof StreamRefused && fault.status === 422) position = undefined
    }
    if (ended.aborted || mayRest()) continue
    lostSince ??= present()
    connection.value = { state: 'lost', since: lostSince }
    await pause(BACKOFF_MS[Math.min(failures++, BACKOFF_MS.length - 1)]!, ended)
  }
}

function tell(changes: readonly Change[] | 'reload'): void {
  for (const listener of [...listeners]) listener(changes)
}
