import type { Agent } from '../../core/agent.ts'
import {
  DEFAULT_PER_MINUTE,
  DEFAULT_SIGNATURE_HEADER,
  faultInTemplate,
  type Hook,
  type HookKeys,
  MAX_HOOKS,
} from '../../core/hook.ts'
import type { HookId } from '../../core/id.ts'
import { principalOf } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import { KEY_OVERLAP_MS } from '../../core/webhook-secret.ts'
import type { StoredHookDelivery } from '../../ports/hook-store.ts'
import type { ServiceContext } from '../service-context.ts'
import { makeKey } from '../webhooks/make-key.ts'

export type NewHook = Pick<Hook, 'scheme' | 'template'> &
  Partial<
    Pick<
      Hook,
      'name' | 'conversationId' | 'signatureHeader' | 'events' | 'perMinute' | 'onGuarded' | 'model' | 'maxSteps'
    >
  > & {
    agent: Agent
    /** Of the sender; absent: a new one. */
    secret?: string
  }

const MAX_NAME = 200

/** The secret is returned here and never again. */
export async function createHook(
  { agent, secret: given, ...request }: NewHook,
  context: ServiceContext,
): Promise<{ hook: Hook; secret: string }> {
  const { deps, caller, organizationId } = context
  const {
    name = '',
    signatureHeader = DEFAULT_SIGNATURE_HEADER,
    perMinute = DEFAULT_PER_MINUTE,
    onGuarded = 'deny',
  } = request
  const fault = faultInTemplate(request.template)
  if (fault) throw new Problem('invalid', `template: ${fault}`)
  const id: HookId = `hook-${deps.randomness.uuid()}`
  const secret = given ?? makeKey(deps)
  const hook: Hook = {
    ...request,
    id,
    organizationId,
    agentId: agent.id,
    name: name.slice(0, MAX_NAME),
    signatureHeader: signatureHeader.toLowerCase(),
    perMinute,
    onGuarded,
    sealed: seal({ current: secret }, id, context),
    isPaused: false,
    createdBy: principalOf(caller),
    createdAt: deps.clock.now(),
  }
  switch (await deps.store.hooks.create(hook, MAX_HOOKS)) {
    case 'created':
      return { hook, secret }
    case 'no-agent':
      throw new Problem('not-found', `Agent not found: ${agent.id}`)
    case 'over-limit':
      throw new Problem('queue-full', `This organization has ${MAX_HOOKS} hooks, which is the limit. Delete some.`)
  }
}

const seal = (keys: HookKeys, id: HookId, { secretKeys }: ServiceContext): string =>
  secretKeys.box.seal(JSON.stringify(keys), id)

export function openHookKeys({ id, sealed }: Pick<Hook, 'id' | 'sealed'>, { secretKeys }: ServiceContext): HookKeys {
  const text = secretKeys.box.open(sealed, id)
  if (text === undefined) throw new Error(`the secret of ${id} cannot be decrypted with the key of this home`)
  return JSON.parse(text) as HookKeys
}

export const listHooks = ({ deps, organizationId }: ServiceContext): Promise<Hook[]> =>
  deps.store.hooks.list(organizationId)

export async function requireHook(id: HookId, { deps, organizationId }: ServiceContext): Promise<Hook> {
  const found = await deps.store.hooks.get(organizationId, id)
  if (found) return found
  throw noHook(id)
}

export const noHook = (id: HookId) => new Problem('not-found', `There is no hook "${id}".`)

async function edit(id: HookId, change: (hook: Hook) => Hook, context: ServiceContext): Promise<Hook> {
  const edited = await context.deps.store.hooks.edit({ organizationId: context.organizationId, id }, change)
  if (edited) return edited
  throw noHook(id)
}

type ChangeableFields = Pick<Hook, 'name' | 'template' | 'events' | 'perMinute' | 'onGuarded' | 'model' | 'maxSteps'>

/** Null removes a field; one that is absent stays. */
type HookChange = { [Field in keyof ChangeableFields]?: ChangeableFields[Field] | null }

export function changeHook(id: HookId, change: HookChange, context: ServiceContext): Promise<Hook> {
  const fault = change.template && faultInTemplate(change.template)
  if (fault) throw new Problem('invalid', `template: ${fault}`)
  return edit(
    id,
    (hook) => {
      const changed = Object.entries({ ...hook, ...change }).filter(([, value]) => value !== null)
      return Object.fromEntries(changed) as Hook
    },
    context,
  )
}

/** Deliveries to a paused hook are refused, so that their senders try again later. */
export const pauseHook = (id: HookId, { isPaused }: { isPaused: boolean }, context: ServiceContext): Promise<Hook> =>
  edit(id, (hook) => ({ ...hook, isPaused }), context)

/** The secret before is accepted too for a day. */
export async function replaceHookSecret(
  id: HookId,
  { secret: given }: { secret?: string },
  context: ServiceContext,
): Promise<{ secret: string; previousUntil: number }> {
  const secret = given ?? makeKey(context.deps)
  const previousUntil = context.deps.clock.now() + KEY_OVERLAP_MS
  await edit(
    id,
    (hook) => {
      const { current: previous } = openHookKeys(hook, context)
      return { ...hook, sealed: seal({ current: secret, previous, previousUntil }, id, context) }
    },
    context,
  )
  return { secret, previousUntil }
}

export async function deleteHook(id: HookId, { deps, organizationId }: ServiceContext): Promise<void> {
  if (!(await deps.store.hooks.delete({ organizationId, id }))) throw noHook(id)
}

export async function hookDeliveries(
  id: HookId,
  page: { limit: number; before?: number },
  context: ServiceContext,
): Promise<StoredHookDelivery[]> {
  await requireHook(id, context)
  return context.deps.store.hooks.deliveries(context.organizationId, id, page)
}
