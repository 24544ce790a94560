import type { FailureKind } from '../core/failure.ts'
import type { HttpDialect } from '../core/message.ts'
import type { Clock } from '../ports/clock.ts'
import type { Environment } from '../ports/environment.ts'
import type { ModelFacts, ModelProvider } from '../ports/model.ts'
import { adviceFor } from './advice.ts'
import type { KeyVariable } from './credentials/environment-keys.ts'
import { WIRE_DIALECTS } from './dialects.ts'
import { lazyProvider } from './lazy-provider.ts'
import { modelFacts } from './model-facts.ts'
import { VENDORS, type Vendor, vendorNamed } from './vendors.ts'
import type { Quirks } from './wire/quirks.ts'
import type { WireVendor } from './wire-vendor.ts'

/** What an operator may configure for one provider; see config/settings.ts. */
export type ProviderWish = {
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
  /** The variables their keys come from. */
  keyVariables: KeyVariable[]
  vendors: readonly (Vendor & { baseUrl: string })[]
  /** How this server differs from its origin, with the headers the configuration adds. */
  quirksOf(provider: string): Quirks
}

/** Every vendor that has an address, and whatever else the configuration names. Making them opens no connection. */
export function providerSet(
  wishes: Readonly<Record<string, ProviderWish>>,
  { environment, clock }: { environment: Environment; clock: Clock },
): ProviderSet {
  const own = Object.keys(wishes)
    .filter((name) => !vendorNamed(name))
    .map(ownVendor)
  const vendors = [...VENDORS, ...own].flatMap((vendor) => {
    const baseUrl = wishes[vendor.name]?.base_url ?? environment[vendor.baseUrlVariable] ?? vendor.baseUrl
    return baseUrl ? [{ ...vendor, baseUrl }] : []
  })
  const quirksOf = (name: string): Quirks => {
    const quirks = vendors.find((vendor) => vendor.name === name)?.quirks ?? {}
    const { headers } = wishes[name] ?? {}
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
        const shaped = { ...vendor, quirks: quirksOf(vendor.name) }
        return [vendor.name, providerOf(shaped, wishes[vendor.name] ?? {}, clock)]
      }),
    ),
  }
}

/** A name that is no vendor's: a server of one's own that speaks a known language. */
function ownVendor(name: string): Vendor {
  const prefix = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
  return {
    ...{ name, label: name, dialect: 'openai-chat', needsKey: false, quirks: { outputCapField: 'max_tokens' } },
    ...{ baseUrlVariable: `${prefix}_BASE_URL`, keyVariables: [`${prefix}_API_KEY`], isAggregator: false },
    advice: `check \`providers.${name}.base_url\`, and ${prefix}_API_KEY if the server wants a key`,
  }
}

function providerOf(vendor: Vendor & { baseUrl: string }, wish: ProviderWish, clock: Clock): ModelProvider {
  const { name: provider, label, keyVariables, baseUrl, needsKey, quirks } = vendor
  const dialect = wish.dialect ?? vendor.dialect
  const isAggregator = wish.aggregator ?? vendor.isAggregator
  const factsOf = (model: string) => factsOfModel(model, dialect, wish.windows)
  const options: Omit<WireVendor, 'dialect'> = {
    provider,
    baseUrl,
    quirks,
    isAggregator,
    needsKey,
    facts: factsOf,
    clock,
    deadlines: {
      ...(wish.timeout_ms === undefined ? {} : { firstByteMs: wish.timeout_ms }),
      ...(wish.stall_timeout_ms === undefined ? {} : { stallMs: wish.stall_timeout_ms }),
    },
  }
  const named = { provider, label, ...(keyVariables[0] ? { keyVariable: keyVariables[0] } : {}) }
  const known = {
    endpoint: { baseUrl, isAggregator, needsKey },
    factsOf,
    adviceFor: (kind: FailureKind) => adviceFor({ ...named, kind }),
  }
  return lazyProvider(known, async () => {
    const { wireVendor } = await import('./wire-vendor.ts')
    return wireVendor({ ...options, dialect: await WIRE_DIALECTS[dialect].load() })
  })
}

function factsOfModel(model: string, dialect: HttpDialect, windows: Record<string, number> = {}): ModelFacts {
  const known = (WIRE_DIALECTS[dialect].factsOf ?? modelFacts)(model)
  const window = windows[model]
  return window === undefined ? known : { ...known, window }
}
