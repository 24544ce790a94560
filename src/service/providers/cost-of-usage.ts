import { costOf, FREE } from '../../core/price.ts'
import { parseTarget, SCRIPTED } from '../../core/target.ts'
import type { ModelUsage } from '../../ports/model-usage.ts'
import type { ServiceContext } from '../service-context.ts'

/** US dollars of one model; undefined if its price is unknown. */
export function costOfUsage(
  { target: handle, usage, largestPrompt }: ModelUsage,
  { directory }: Pick<ServiceContext, 'directory'>,
): number | undefined {
  const target = parseTarget(handle)
  const known = target?.provider === SCRIPTED ? FREE : target && directory.priceOf(target)
  if (!known) return undefined
  const { upTo, ...price } = known
  // The bound is for one prompt; the usage is the sum of many.
  return upTo !== undefined && largestPrompt > upTo ? undefined : costOf(usage, price)
}
