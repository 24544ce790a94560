import type { AccountSettings } from '../../core/gateway/settings.ts'
import { follows, type Invite } from './cursor.ts'
import { type MatrixTransport, pathOf } from './transport.ts'

type JoinerOptions = {
  transport: MatrixTransport
  settings: Pick<AccountSettings, 'access' | 'allow' | 'groups'>
  now(): number
  signal: AbortSignal
  /** The invitation was withdrawn. */
  gaveUp(room: string): void
}

/** Rooms of other homeservers may take minutes to enter, and never answer. */
const JOIN_TIMEOUT_MS = 60_000
const RETRY_MS = 60_000
const MOST_AT_ONCE = 8

/** Accepts invitations, beside everything else. Joining again changes nothing, so a lost answer is a retry. */
export function newJoiner({ transport, settings, now, signal, gaveUp }: JoinerOptions) {
  const joining = new Map<string, Promise<void>>()
  const notBefore = new Map<string, number>()

  async function join(room: string): Promise<void> {
    const request = { method: 'POST' as const, path: pathOf('v3', 'join', room), body: {}, timeoutMs: JOIN_TIMEOUT_MS }
    const outcome = await transport.call(request, signal)
    // The next answer of `/sync` has the room. Until then there is nothing to do.
    if (outcome.type === 'done') return void notBefore.set(room, Number.POSITIVE_INFINITY)
    const { kind, retryAfterMs } = outcome.failure
    if (kind === 'dead-target') gaveUp(room)
    notBefore.set(room, now() + Math.max(RETRY_MS, retryAfterMs ?? 0))
  }

  return {
    follow(invites: Readonly<Record<string, Invite>>): void {
      for (const room of notBefore.keys()) if (!(room in invites)) notBefore.delete(room)
      for (const [room, invite] of Object.entries(invites)) {
        if (joining.size >= MOST_AT_ONCE || signal.aborted) return
        const isDue = (notBefore.get(room) ?? 0) <= now()
        if (!isDue || joining.has(room) || !follows(room, invite, settings)) continue
        joining.set(
          room,
          join(room).finally(() => joining.delete(room)),
        )
      }
    },
    async stop(): Promise<void> {
      await Promise.all(joining.values())
    },
  }
}
