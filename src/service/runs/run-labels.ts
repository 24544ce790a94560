import type { Price } from '../../core/price.ts'
import { parseTarget } from '../../core/target.ts'
import type { ServiceContext } from '../service-context.ts'

/** Readable labels for the ids in the events of a run. */
export type RunLabels = {
  /** The label of a credential, or its environment variable; its id if it was removed. */
  credential(id: string): string
  price(handle: string): Price | undefined
}

const ENVIRONMENT = 'credential-env-'

/** Reads labels only and decrypts nothing. */
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
