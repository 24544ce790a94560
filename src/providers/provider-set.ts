import { defined } from '../core/defined.ts'
import type { FailureKind } from '../core/failure.ts'
import type { HttpDialect } from '../core/message.ts'
import type { RequestAdjustments } from '../core/request-adjustments.ts'
import type { Clock } from '../ports/clock.ts'
import type { Environment } from '../ports/environment.ts'
import type { ModelFacts, ModelProvider } from '../ports/model.ts'
import { adviceFor, missingKeyAdvice } from './advice.ts'
import type { KeyVariable } from './credentials/environment-keys.ts'
import { WIRE_DIALECTS } from './dialects.ts'
import { newLazyProvider } from './lazy-provider.ts'
import { modelFacts } from './model-facts.ts'
import type { VendorProviderOptions } from './vendor-provider.ts'
import { findVendor, VENDORS, type Vendor } from './vendors.ts'
import type { Quirks } from './wire/quirks.ts'

/** The settings an operator can override for one provider; see config/settings.ts. */
export type ProviderOverrides = {
  base_url?: string
  dialect?: Vendor['dialect']
  timeout_ms?: number
  stall_timeout_ms?: number
  headers?: Record<string, string>
  windows?: Record<string, number>
  aggregator?: boolean
}

export type ProviderSet = {
  providers: Record<string, ModelProvider>
  /** The environment variables that hold their keys. */
  keyVariables: KeyVariable[]
  vendors: readonly (Vendor & { baseUrl: string })[]
  /** The quirks of this provider, with the headers that the configuration adds. */
  quirksOf(provider: string): Quirks
}

/** Every vendor that has a base URL, and every other provider in the configuration. Opens no connection. */
export function newProviderSet(
  overrides: Readonly<Record<string, ProviderOverrides>>,
  { environment, clock }: { environment: Environment; clock: Clock },
): ProviderSet {
  const customVendors = Object.keys(overrides)
    .filter((name) => !findVendor(name))
    .map(customVendor)
  const vendors = [...VENDORS, ...customVendors].flatMap((vendor) => {
    const baseUrl = overrides[vendor.name]?.base_url ?? environment[vendor.baseUrlVariable] ?? vendor.baseUrl
    return baseUrl ? [{ ...vendor, baseUrl }] : []
  })
  const quirksOf = (name: string): Quirks => {
    const quirks = vendors.find((vendor) => vendor.name === name)?.quirks ?? {}
    const { headers } = overrides[name] ?? {}
    return headers ? { ...quirks, headers: { ...quirks.headers, ...headers } } : quirks
  }
  return {
    vendors,
    quirksOf,
    keyVariables: vendors.flatMap(({ name, keyVariables }) =>
      keyVariables.map((variable) => ({ provider: name, variable })),
    ),
    providers: Object.fromEntries(
      vendors.map((vendor) => {
        const configured = { ...vendor, quirks: quirksOf(vendor.name) }
        return [vendor.name, newProvider(configured, overrides[vendor.name] ?? {}, clock)]
      }),
    ),
  }
}

/** A provider that is not a known vendor: a self-hosted server that speaks a known dialect. */
function customVendor(name: string): Vendor {
  const prefix = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
  return {
    name,
    label: name,
    dialect: 'openai-chat',
    needsKey: false,
    quirks: { outputCapField: 'max_tokens' },
    baseUrlVariable: `${prefix}_BASE_URL`,
    keyVariables: [`${prefix}_API_KEY`],
    isAggregator: false,
  }
}

function newProvider(vendor: Vendor & { baseUrl: string }, overrides: ProviderOverrides, clock: Clock): ModelProvider {
  const { name: provider, label, keyVariables, baseUrl, needsKey, quirks } = vendor
  const dialect = overrides.dialect ?? vendor.dialect
  const isAggregator = overrides.aggregator ?? vendor.isAggregator
  const factsOf = (model: string, adjustments?: RequestAdjustments) =>
    lookupFacts(model, { dialect, windows: overrides.windows ?? {}, adjustments: adjustments ?? {} })
  const options: Omit<VendorProviderOptions, 'dialect'> = {
    provider,
    baseUrl,
    quirks,
    isAggregator,
    needsKey,
    facts: factsOf,
    clock,
    deadlines: defined({ firstByteMs: overrides.timeout_ms, stallMs: overrides.stall_timeout_ms }),
  }
  const named = { provider, label, ...defined({ keyVariable: keyVariables[0] || undefined }) }
  const known = {
    endpoint: { baseUrl, isAggregator, needsKey, keyAdvice: missingKeyAdvice(provider, keyVariables) },
    factsOf,
    adviceFor: (kind: FailureKind) => adviceFor({ ...named, kind }),
  }
  return newLazyProvider(known, async () => {
    const { newVendorProvider } = await import('./vendor-provider.ts')
    return newVendorProvider({ ...options, dialect: await WIRE_DIALECTS[dialect].load() })
  })
}

type FactsContext = { dialect: HttpDialect; windows: Record<string, number>; adjustments: RequestAdjustments }

function lookupFacts(model: string, { dialect, windows, adjustments }: FactsContext): ModelFacts {
  const known = (WIRE_DIALECTS[dialect].factsOf ?? modelFacts)(model, adjustments)
  const window = windows[model]
  if (window === undefined) return known
  // The window in config.yaml may be the long one, which this account does not have.
  const limit = adjustments.dropLongContextBeta ? known.window : undefined
  return { ...known, window: Math.min(window, limit ?? window) }
}
