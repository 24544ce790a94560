import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { onChanges } from '../feed.ts'
import type { WireMessage } from './items.ts'

const PAGE = 100

/** The committed messages, the newest page first; earlier ones on request. */
export function useHistory(id: string) {
  const messages = useSignal<WireMessage[]>([])
  const failure = useSignal<Failure | undefined>(undefined)
  const hasMore = useSignal(false)
  const isLoaded = useSignal(false)
  const path = `/v1/conversations/${id}/messages?order=desc&limit=${PAGE}`

  async function loadNewest(): Promise<void> {
    const answer = await request<WireMessage[]>('GET', path)
    failure.value = answer.ok ? undefined : answer.failure
    if (!answer.ok) return
    const page = answer.value.toReversed()
    const known = messages.value
    const first = page[0]?.id
    // Earlier pages that were read stay.
    const overlap = known.findIndex((message) => message.id === first)
    messages.value = overlap > 0 ? [...known.slice(0, overlap), ...page] : page
    if (overlap <= 0) hasMore.value = answer.value.length === PAGE
    isLoaded.value = true
  }

  async function loadEarlier(): Promise<void> {
    const first = messages.value[0]
    if (!first) return
    const answer = await request<WireMessage[]>('GET', `${path}&after=${first.id}`)
    failure.value = answer.ok ? undefined : answer.failure
    if (!answer.ok) return
    messages.value = [...answer.value.toReversed(), ...messages.value]
    hasMore.value = answer.value.length === PAGE
  }

  useEffect(() => {
    void loadNewest()
    return onChanges((changes) => {
      if (changes === 'reload' || changes.some((change) => change.conversation_id === id || change.id === id))
        void loadNewest()
    })
  }, [id])

  return {
    messages: messages.value,
    failure: failure.value,
    hasMore: hasMore.value,
    isLoaded: isLoaded.value,
    loadEarlier,
    reload: () => void loadNewest(),
  }
}
