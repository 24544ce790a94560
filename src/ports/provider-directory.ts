import type { PoolStrategy } from '../core/credential.ts'
import type { Failure } from '../core/failure.ts'
import type { Dialect } from '../core/message.ts'
import type { Price } from '../core/price.ts'
import type { Target } from '../core/target.ts'
import type { Grant } from './credentials.ts'
import type { ModelFacts } from './model.ts'

/** A provider with an address, as listed for operators. */
export type ProviderEntry = {
  name: string
  label: string
  dialect: Dialect
  baseUrl: string
  /** Where the address comes from. */
  addressFrom: 'config' | 'environment' | 'vendor'
  /** Environment variables that are read; `CredentialAdmin.environment` lists those that are set. */
  baseUrlVariable: string
  keyVariables: readonly string[]
  needsKey: boolean
  isAggregator: boolean
  strategy: PoolStrategy
  /** Timeouts in milliseconds, for a short request. */
  deadlines: { connect: number; firstByte: number; stall: number }
}

/** A model as the provider's own list describes it. */
export type ListedModel = { model: string; price?: Price } & ModelFacts

export type ModelList = { type: 'models'; models: ListedModel[] } | { type: 'failure'; failure: Failure }

/** `windowFrom`: the source of the context window size. Sizes learned from failures are in the store. */
export type KnownFacts = ModelFacts & { windowFrom?: 'config' | 'table' }

export type ProviderDirectory = {
  /** Providers with an address, vendors first. */
  list(): readonly ProviderEntry[]
  /** Vendors without an address, and the variable that sets one. */
  unaddressed(): readonly { name: string; label: string; baseUrlVariable: string }[]
  /** Providers with a device login; not all of them have an address. */
  loginNames(): readonly string[]
  /** Requests the model list over HTTP, once and with a short timeout. Failures are values. */
  listModels(provider: string, options: { grant?: Grant; signal: AbortSignal }): Promise<ModelList>
  factsOf(target: Target): KnownFacts
  /** From the dated price table; undefined if unknown. */
  priceOf(target: Target): Price | undefined
}
