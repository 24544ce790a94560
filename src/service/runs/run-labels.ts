import type { Price } from '../../core/price.ts'
import { parseTarget } from '../../core/target.ts'
import type { ServiceContext } from '../service-context.ts'

/** What a person calls the things a run's events only have ids for. */
export type RunLabels = {
  /** The label of a credential, or the variable it comes from; its id once it is gone. */
  credential(id: string): string
  price(handle: string): Price | undefined
}

const ENVIRONMENT = 'credential-env-'

/** Labels only: nothing secret is opened for a story. */
export async function readRunLabels(context: ServiceContext): Promise<RunLabels> {
  const { deps, organizationId, directory } = context
  const labels = new Map(
    (await deps.store.credentials.list(organizationId)).map(({ id, label }) => [String(id), label]),
  )
  return {
    credential: (id) =>
      id.startsWith(ENVIRONMENT) ? id.slice(ENVIRONMENT.length) : (labels.get(id) ?? `${id} (removed since)`),
    price(handle) {
      const target = parseTarget(handle)
      return target && directory.priceOf(target)
    },
  }
}
