import type { PoolStrategy } from '../core/credential.ts'
import { defined } from '../core/defined.ts'
import type { Environment } from '../ports/environment.ts'
import type { KnownFacts, ProviderDirectory, ProviderEntry } from '../ports/provider-directory.ts'
import { flowNames, flowProvider } from './credentials/oauth-flows.ts'
import { WIRE_DIALECTS } from './dialects.ts'
import { priceOf } from './model-prices.ts'
import type { ProviderOverrides, ProviderSet } from './provider-set.ts'
import { VENDORS, type Vendor } from './vendors.ts'
import { deadlinesFor } from './wire/deadlines.ts'

type OverridesByProvider = Readonly<Record<string, ProviderOverrides & { strategy?: PoolStrategy }>>

/** The providers of this process as the CLI and the HTTP API show them. */
export function newProviderDirectory(
  { vendors, providers, quirksOf }: ProviderSet,
  { overrides, environment }: { overrides: OverridesByProvider; environment: Environment },
): ProviderDirectory {
  const entries = vendors.map((vendor) =>
    toProviderEntry(vendor, { override: overrides[vendor.name] ?? {}, environment }),
  )
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return {
    list: () => entries,
    unaddressed: () =>
      VENDORS.filter(({ name }) => !byName.has(name)).map(({ name, label, baseUrlVariable }) => ({
        name,
        label,
        baseUrlVariable,
      })),
    loginNames: () => flowNames.flatMap((name) => flowProvider(name) ?? []),
    async listModels(name, options) {
      const entry = byName.get(name)
      if (!entry)
        return {
          type: 'failure',
          failure: { kind: 'model-unknown', detail: `provider ${name} does not list its models` },
        }
      const { baseUrl, dialect } = entry
      if (dialect === 'ai-sdk')
        return {
          type: 'failure',
          failure: { kind: 'invalid-request', detail: 'providers that use the AI SDK do not list their models' },
        }
      const { listModels } = await import('./list-models.ts')
      const { models: listing } = await WIRE_DIALECTS[dialect].load()
      return listModels({ provider: name, listing, baseUrl, quirks: quirksOf(name), ...options })
    },
    factsOf({ provider, model }): KnownFacts {
      const facts = providers[provider]?.factsOf?.(model) ?? {}
      const isSet = overrides[provider]?.windows?.[model] !== undefined
      return facts.window === undefined ? facts : { ...facts, windowFrom: isSet ? 'config' : 'table' }
    },
    priceOf: ({ provider, model }) => priceOf(provider, model),
  }
}

type ProviderEntryOptions = { override: OverridesByProvider[string]; environment: Environment }

function toProviderEntry(
  vendor: Vendor & { baseUrl: string },
  { override, environment }: ProviderEntryOptions,
): ProviderEntry {
  const { name, label, baseUrl, baseUrlVariable, keyVariables, needsKey } = vendor
  const { connectMs, firstByteMs, stallMs } = deadlinesFor(
    defined({ firstByteMs: override.timeout_ms, stallMs: override.stall_timeout_ms }),
    0,
  )
  return {
    name,
    label,
    baseUrl,
    baseUrlVariable,
    keyVariables,
    needsKey,
    dialect: override.dialect ?? vendor.dialect,
    addressFrom: override.base_url ? 'config' : environment[baseUrlVariable] ? 'environment' : 'vendor',
    isAggregator: override.aggregator ?? vendor.isAggregator,
    strategy: override.strategy ?? 'fill_first',
    deadlines: { connect: connectMs, firstByte: firstByteMs, stall: stallMs },
  }
}
