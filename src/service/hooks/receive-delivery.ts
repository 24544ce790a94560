import { defined } from '../../core/defined.ts'
import { type Hook, type HookDelivery, MAX_HOOK_BYTES, renderTemplate } from '../../core/hook.ts'
import { type HookRequest, type Verified, verifyHook } from '../../core/hook-signature.ts'
import type { HookId, RunId } from '../../core/id.ts'
import { Problem, type ProblemKind } from '../../core/problem.ts'
import type { OpenRun } from '../../ports/store.ts'
import { newOpening } from '../messages/send-message.ts'
import { queueQuotaOf } from '../messages/turn-quota.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import { refusalOf } from '../schedules/settle-schedules.ts'
import type { ServiceContext } from '../service-context.ts'
import { noHook, openHookKeys } from './hooks.ts'

/** Room in the log for requests that were refused: a flood of them must not fill the disk. */
export type HookTraffic = {
  /** Milliseconds until the hook takes another delivery; 0: it takes this one. */
  take(hook: Pick<Hook, 'id' | 'perMinute'>): number
  mayLogRefusal(id: HookId): boolean
}

export type IncomingRequest = Omit<HookRequest, 'body'> & {
  /** Reads the body as JSON; throws a problem if it is too deep. */
  read(bytes: Buffer): HookRequest['body']
  isTooLarge: boolean
}

type Result = { outcome: 'accepted' | 'repeated' | 'ignored'; runId: RunId | undefined }

/**
 * Turns a signed request into a message. When this resolves with a run, the delivery and its run are on disk. What is
 * refused is a problem with the reason, and an entry in the log of the hook.
 */
export async function receiveDelivery(
  id: HookId,
  request: IncomingRequest,
  { traffic, ...context }: ServiceContext & { traffic: HookTraffic },
): Promise<Result> {
  const hook = await context.deps.store.hooks.find(id)
  if (!hook) throw noHook(id)
  const own = contextOf(hook, context)
  const entry = newEntry(hook, request, own)
  const refuse = async (kind: ProblemKind, reason: string, more: Partial<HookDelivery> = {}): Promise<never> => {
    if (traffic.mayLogRefusal(id)) await own.deps.store.hooks.log({ ...entry, ...more, outcome: 'refused', reason })
    throw new Problem(kind, reason)
  }
  if (request.isTooLarge) return refuse('too-large', `The body is larger than ${MAX_HOOK_BYTES} bytes.`)
  const body = request.read(request.bytes)
  const verified = verify(hook, { ...request, body }, own)
  if (verified.type === 'invalid') return refuse('forbidden', verified.reason)
  const { deliveryId, event, key } = verified
  const named = { deliveryId: deliveryId.slice(0, 200), ...defined({ event: event || undefined }) }
  if (hook.isPaused) return refuse('unavailable', 'The hook is paused.', named)
  if (hook.events && !hook.events.includes(event)) {
    const reason = `The hook takes ${hook.events.join(', ')}, not "${event}".`
    if (traffic.mayLogRefusal(id)) await own.deps.store.hooks.log({ ...entry, ...named, outcome: 'ignored', reason })
    return { outcome: 'ignored', runId: undefined }
  }
  if (traffic.take(hook) > 0)
    return refuse('queue-full', `The hook takes ${hook.perMinute} deliveries per minute.`, named)
  const rendered = renderTemplate(hook.template, { body: body ?? null, event, headers: request.headers })
  if (rendered.type === 'fault') return refuse('invalid', rendered.reason, named)
  const open = await openingOf(hook, { text: rendered.text, deliveryId }, own)
  if (!open) return refuse('gone', 'The agent or the conversation of the hook was deleted.', named)
  const delivery = { ...named, bytes: entry.bytes, receivedAt: entry.receivedAt }
  const received = await own.deps.store.hooks.receive({ hook, delivery, key, open, refusalOf })
  switch (received.type) {
    case 'accepted':
      own.engine?.dispatcher.wake('queue')
      return { outcome: 'accepted', runId: received.runId }
    case 'repeated':
      return { outcome: 'repeated', runId: received.runId }
    case 'gone':
      throw noHook(id)
    case 'refused':
      // It is in the log. The sender may try again.
      throw new Problem('unavailable', refusalOf(received.opened))
  }
}

/** The hook acts for the key that created it, with the right to use agents and nothing more. */
const contextOf = ({ organizationId, createdBy }: Hook, context: ServiceContext): ServiceContext => ({
  ...context,
  organizationId,
  caller: { ...createdBy, organizationId, scope: 'agent' },
})

const newEntry = (
  { id: hookId, organizationId, agentId }: Hook,
  { bytes }: IncomingRequest,
  { deps }: ServiceContext,
): Omit<HookDelivery, 'outcome'> => ({
  hookId,
  organizationId,
  agentId,
  bytes: bytes.length,
  receivedAt: deps.clock.now(),
  repeats: 0,
})

function verify(hook: Hook, request: HookRequest, context: ServiceContext): Verified {
  const { clock, digest } = context.deps
  const now = clock.now()
  const { current, previous = '', previousUntil = 0 } = openHookKeys(hook, context)
  const secrets = now < previousUntil ? [current, previous] : [current]
  return verifyHook(request, hook, { secrets, now, hmac: context.hmac, digest })
}

async function openingOf(
  hook: Hook,
  { text, deliveryId }: { text: string; deliveryId: string },
  context: ServiceContext,
): Promise<OpenRun | undefined> {
  const { store } = context.deps
  const { organizationId, agentId, conversationId, onGuarded, model, maxSteps } = hook
  const [agent, conversation, quota] = await Promise.all([
    store.agents.get(organizationId, agentId),
    conversationId
      ? store.conversations.get(organizationId, conversationId)
      : store.conversations.defaultOf(organizationId, agentId),
    queueQuotaOf(context),
  ])
  if (!agent || !conversation) return undefined
  await requireRoomFor(text, context)
  const opening = newOpening(
    {
      agent,
      conversationId: conversation.id,
      conversation,
      inputs: [{ role: 'user', content: [{ type: 'text', text }] }],
      onGuarded,
      background: true,
      metadata: { run_type: 'hook', hook_id: hook.id, delivery_id: deliveryId, on_guarded: onGuarded },
      ...defined({ model, maxSteps }),
    },
    context,
  )
  return { ...opening, policy: 'queue', ...defined({ quota }) }
}
