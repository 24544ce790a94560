import { defined } from '../../core/defined.ts'
import { isOperator, scopeCovers } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { CallbackRequest } from '../../ports/webhook-store.ts'
import type { ServiceContext } from '../service-context.ts'

/** Checks whether the caller may use this webhook URL. The sender checks it again before each request. */
export function acceptCallback(url: string, { outbound, caller }: ServiceContext): CallbackRequest {
  const reach = isOperator(caller) ? 'configured' : 'public'
  const fault = outbound.addressFault(url, reach)
  if (fault) throw new Problem('invalid', `callback_url cannot be called: ${fault}.`)
  return { url, trust: reach }
}

/** A run or schedule as this caller may see it: the path of a webhook often is its secret, so only `agent` shows it. */
export function withShownCallback<T extends { callback?: { url: string; error?: string } }>(
  one: T,
  { caller }: Pick<ServiceContext, 'caller'>,
): T {
  if (!one.callback || scopeCovers(caller.scope, 'agent')) return one
  const { url, error } = one.callback
  const shown = `${new URL(url).origin}/…`
  return { ...one, callback: { ...one.callback, url: shown, ...defined({ error: error?.replaceAll(url, shown) }) } }
}
