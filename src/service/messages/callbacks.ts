import { isOperator } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { CallbackRequest } from '../../ports/callback-store.ts'
import type { ServiceContext } from '../service-context.ts'

/** Whether the caller may have that address called. It is judged again before each call. */
export function acceptCallback(url: string, { outbound, caller }: ServiceContext): CallbackRequest {
  const reach = isOperator(caller) ? 'configured' : 'public'
  const fault = outbound.addressFault(url, reach)
  if (fault) throw new Problem('invalid', `callback_url cannot be called: ${fault}.`)
  return { url, trust: reach }
}
