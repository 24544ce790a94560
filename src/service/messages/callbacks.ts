import { isOperator } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { CallbackWish } from '../../ports/callback-store.ts'
import type { Desk } from '../desk.ts'

/** Whether the caller may have that address called. It is judged again before each call. */
export function acceptCallback(url: string, { outbound, caller }: Desk): CallbackWish {
  const reach = isOperator(caller) ? 'configured' : 'public'
  const fault = outbound.addressFault(url, reach)
  if (fault) throw new Problem('invalid', `callback_url cannot be called: ${fault}.`)
  return { url, reach }
}
