import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Failure, request } from './api.ts'
import { type Change, onChanges } from './feed.ts'

/** What a screen shows: committed rows, as of the last answer. `failure` stands beside old rows, not instead of them. */
export type Resource<T> = { value?: T; failure?: Failure; reload(): void }

/** How long changes are collected before a list is fetched again. */
const SETTLE_MS = 60

/** Fetches the path, and again when the feed tells of a change that matters. */
export function useResource<T>(path: string | undefined, matters: (change: Change) => boolean): Signal<Resource<T>> {
  const resource = useSignal<Resource<T>>({ reload: () => undefined })
  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isLoading = false
    let isStale = false
    async function load(): Promise<void> {
      if (path === undefined) return
      if (isLoading) {
        isStale = true
        return
      }
      isLoading = true
      const answer = await request<T>('GET', path, undefined, stop.signal)
      isLoading = false
      if (stop.signal.aborted) return
      if (answer.ok) resource.value = { value: answer.value, reload }
      else resource.value = { ...resource.value, failure: answer.failure, reload }
      if (isStale) {
        isStale = false
        reload()
      }
    }
    function reload(): void {
      timer ??= setTimeout(() => {
        timer = undefined
        void load()
      }, SETTLE_MS)
    }
    resource.value = { reload }
    void load()
    const unsubscribe = onChanges((changes) => {
      if (changes === 'reload' || changes.some(matters)) reload()
    })
    return () => {
      stop.abort()
      clearTimeout(timer)
      unsubscribe()
    }
  }, [path])
  return resource
}

/** Calls the listener for every change of these kinds while the component is shown. */
export function useChanges(listener: (changes: readonly Change[] | 'reload') => void, inputs: unknown[]): void {
  useEffect(() => onChanges(listener), inputs)
}
