import { isOperator } from '../../core/people.ts'
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
