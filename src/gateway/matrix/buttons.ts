import type { Button } from '../../core/gateway/outbound.ts'
import type { CallOutcome } from '../../ports/platform.ts'
import type { Bot, relationOf, WireEvent } from './read-event.ts'
import { asRead, failed, type MatrixTransport, roomPath } from './transport.ts'

/** Where a message of the bot keeps what its buttons mean. Matrix has none: people react to the message instead. */
export const BUTTONS = 'dev.holdfast.buttons'

/** The sign at the beginning of a label, without the selector that some keyboards add. */
export const signOf = (text: string): string => (text.split(' ')[0] ?? '').replaceAll('\uFE0F', '')

export const buttonsOf = (buttons: readonly Button[]): Record<string, string> =>
  Object.fromEntries(buttons.map(({ label, data }) => [signOf(label), data]))

/** Signs that buttons have: other reactions are not worth a request. */
const SIGNS = new Set(['✅', '❌'])

type Reaction = { room: string; relation: ReturnType<typeof relationOf>; bot: Bot }

export async function buttonOf(
  { room, relation, bot }: Reaction,
  { call }: MatrixTransport,
  signal: AbortSignal,
): Promise<CallOutcome<{ data: string | undefined }>> {
  const { rel_type, event_id, key } = relation
  const none = { type: 'done' as const, data: undefined }
  if (rel_type !== 'm.annotation' || typeof event_id !== 'string' || typeof key !== 'string') return none
  const sign = signOf(key)
  if (!SIGNS.has(sign)) return none
  const asked = await call<WireEvent>({ method: 'GET', path: roomPath(room, 'event', event_id) }, signal)
  if (asked.type === 'failed') {
    const { kind } = asked.failure
    return kind === 'dead-target' || kind === 'refused' ? none : failed(asRead(asked.failure))
  }
  const { sender, content = {} } = asked.result
  const meanings = sender === bot.id ? (content[BUTTONS] as Record<string, unknown> | undefined) : undefined
  const data = meanings?.[sign]
  return typeof data === 'string' ? { type: 'done', data } : none
}
