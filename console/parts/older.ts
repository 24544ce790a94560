import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { onChanges } from '../feed.ts'

/** The pages of a list behind its first one, which the feed keeps current. They are dropped when the path changes. */
export function useOlder<Row extends { id: string }>(path: string, size: number) {
  const rows = useSignal<Row[]>([])
  const failure = useSignal<Failure | undefined>(undefined)
  const isAtEnd = useSignal(false)
  useEffect(() => {
    rows.value = []
    isAtEnd.value = false
    return onChanges((changes) => {
      if (changes === 'reload') rows.value = []
      else if (changes.some(({ verb }) => verb === 'deleted'))
        rows.value = rows.value.filter(({ id }) => !changes.some((one) => one.id === id && one.verb === 'deleted'))
    })
  }, [path])
  return {
    failure: failure.value,
    /** The first page with those behind it, each row once: the first page moves on while others stay. */
    after(first: readonly Row[]): Row[] {
      const known = new Set(first.map(({ id }) => id))
      return [...first, ...rows.value.filter(({ id }) => !known.has(id))]
    },
    hasMore: (shown: readonly Row[]) => shown.length >= size && !isAtEnd.value,
    async load(shown: readonly Row[]): Promise<void> {
      const answer = await request<Row[]>('GET', `${path}&after=${shown.at(-1)!.id}`)
      failure.value = answer.ok ? undefined : answer.failure
      if (!answer.ok) return
      // Rows that left the first page meanwhile stay where they are.
      rows.value = [...shown, ...answer.value]
      isAtEnd.value = answer.value.length < size
    },
  }
}
