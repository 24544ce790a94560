import type { CallOutcome } from '../../ports/platform.ts'
import type { DiscordTransport } from './transport.ts'

/** Channels of private chats, and the channels to which threads belong. */
export type Directory = ReturnType<typeof newDirectory>

const REMEMBERED = 5_000
/** The kinds of channels that are threads. */
const THREADS = new Set([10, 11, 12])

type WireChannel = { id?: string; type?: number; parent_id?: string | null }

export function newDirectory({ call }: DiscordTransport) {
  const direct = new Map<string, string>()
  /** The empty string: no thread. */
  const parents = new Map<string, string>()

  function saw({ id, type, parent_id }: WireChannel): void {
    if (id !== undefined) remember(parents, id, type !== undefined && THREADS.has(type) ? (parent_id ?? '') : '')
  }

  return {
    saw,
    sawDirect: (userId: string, channel: string): void => remember(direct, userId, channel),

    /** The channel of a private chat. Opening it again finds it. */
    async directChannel(userId: string, signal: AbortSignal): Promise<CallOutcome<{ channel: string }>> {
      const known = direct.get(userId)
      if (known !== undefined) return { type: 'done', channel: known }
      const body = { recipient_id: userId }
      const opened = await call<WireChannel>({ method: 'POST', path: '/users/@me/channels', body }, signal)
      // It changed nothing that matters, so it may be made again.
      if (opened.type === 'failed' && opened.failure.kind === 'unknown')
        return { type: 'failed', failure: { ...opened.failure, kind: 'unreachable' } }
      if (opened.type === 'failed') return opened
      const { id } = opened.result
      if (id === undefined) return { type: 'failed', failure: { kind: 'refused', detail: 'Discord opened no channel' } }
      remember(direct, userId, id)
      return { type: 'done', channel: id }
    },

    /** The channel of a thread. Unknown channels are asked for: after a resumption Discord does not list them. */
    async parentOf(channel: string, signal: AbortSignal): Promise<CallOutcome<{ parent?: string | undefined }>> {
      if (!parents.has(channel)) {
        const found = await call<WireChannel>({ method: 'GET', path: `/channels/${channel}` }, signal)
        if (found.type === 'failed') return found.failure.kind === 'dead-target' ? { type: 'done' } : found
        saw(found.result)
      }
      return { type: 'done', parent: parents.get(channel) || undefined }
    },
  }
}

function remember(map: Map<string, string>, key: string, value: string): void {
  map.delete(key)
  map.set(key, value)
  const oldest = map.size > REMEMBERED ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
}
