import type { PoolStrategy } from '../core/credential.ts'
import type { Environment } from '../ports/environment.ts'
import type { KnownFacts, ProviderDirectory, ProviderEntry } from '../ports/provider-directory.ts'
import { flowNames, flowProvider } from './credentials/oauth-flows.ts'
import { WIRE_DIALECTS } from './dialects.ts'
import { priceOf } from './model-prices.ts'
import type { ProviderSet, ProviderWish } from './provider-set.ts'
import { VENDORS, type Vendor } from './vendors.ts'
import { deadlinesFor } from './wire/deadlines.ts'

type Wishes = Readonly<Record<string, ProviderWish & { strategy?: PoolStrategy }>>

/** What people may know of the providers of this process. */
export function providerDirectory(
  { vendors, providers, quirksOf }: ProviderSet,
  { wishes, environment }: { wishes: Wishes; environment: Environment },
): ProviderDirectory {
  const entries = vendors.map((vendor) => entryOf(vendor, { wish: wishes[vendor.name] ?? {}, environment }))
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return {
    list: () => entries,
    unaddressed: () =>
      VENDORS.filter(({ name }) => !byName.has(name)).map(({ name, label, baseUrlVariable }) => ({
        ...{ name, label, baseUrlVariable },
      })),
    loginNames: () => flowNames.flatMap((name) => flowProvider(name) ?? []),
    async listModels(name, options) {
      const entry = byName.get(name)
      if (!entry)
        return { type: 'failure', failure: { kind: 'model-unknown', detail: `${name} has no list of models` } }
      const { baseUrl, dialect } = entry
      if (dialect === 'ai-sdk')
        return { type: 'failure', failure: { kind: 'invalid-request', detail: 'this client lists no models' } }
      const { listModels } = await import('./list-models.ts')
      const { models: listing } = await WIRE_DIALECTS[dialect].load()
      return listModels({ provider: name, listing, baseUrl, quirks: quirksOf(name), ...options })
    },
    factsOf({ provider, model }): KnownFacts {
      const facts = providers[provider]?.factsOf?.(model) ?? {}
      const isSet = wishes[provider]?.windows?.[model] !== undefined
      return facts.window === undefined ? facts : { ...facts, windowFrom: isSet ? 'config' : 'table' }
    },
    priceOf: ({ provider, model }) => priceOf(provider, model),
  }
}

type Said = { wish: Wishes[string]; environment: Environment }

function entryOf(vendor: Vendor & { baseUrl: string }, { wish, environment }: Said): ProviderEntry {
  const { name, label, baseUrl, baseUrlVariable, keyVariables, needsKey } = vendor
  const { connectMs, firstByteMs, stallMs } = deadlinesFor(
    {
      ...(wish.timeout_ms === undefined ? {} : { firstByteMs: wish.timeout_ms }),
      ...(wish.stall_timeout_ms === undefined ? {} : { stallMs: wish.stall_timeout_ms }),
    },
    0,
  )
  return {
    ...{ name, label, baseUrl, baseUrlVariable, keyVariables, needsKey },
    dialect: wish.dialect ?? vendor.dialect,
    addressFrom: wish.base_url ? 'config' : environment[baseUrlVariable] ? 'environment' : 'vendor',
    isAggregator: wish.aggregator ?? vendor.isAggregator,
    strategy: wish.strategy ?? 'fill_first',
    deadlines: { connect: connectMs, firstByte: firstByteMs, stall: stallMs },
  }
}
