import type { PoolStrategy } from '../core/credential.ts'
import type { Failure } from '../core/failure.ts'
import type { Dialect } from '../core/message.ts'
import type { Price } from '../core/price.ts'
import type { Target } from '../core/target.ts'
import type { Grant } from './credentials.ts'
import type { ModelFacts } from './model.ts'

/** A provider that has an address, as people see it. */
export type ProviderEntry = {
  name: string
  label: string
  dialect: Dialect
  baseUrl: string
  /** Who said where it is. */
  addressFrom: 'config' | 'environment' | 'vendor'
  /** The variables that are looked at; which of them are set is the credentials' business. */
  baseUrlVariable: string
  keyVariables: readonly string[]
  needsKey: boolean
  isAggregator: boolean
  strategy: PoolStrategy
  /** Milliseconds, for a short request. */
  deadlines: { connect: number; firstByte: number; stall: number }
}

/** What a provider's own list says of a model. */
export type ListedModel = { model: string; price?: Price } & ModelFacts

export type ModelList = { type: 'models'; models: ListedModel[] } | { type: 'failure'; failure: Failure }

/** Where a window is known from; what is learned from failures is the store's. */
export type KnownFacts = ModelFacts & { windowFrom?: 'config' | 'table' }

export type ProviderDirectory = {
  /** Those with an address, vendors first. */
  list(): readonly ProviderEntry[]
  /** Vendors without an address, and what would give them one. */
  unaddressed(): readonly { name: string; label: string; baseUrlVariable: string }[]
  /** Names that have a login of their own; not all of them have an address. */
  loginNames(): readonly string[]
  /** Asks the provider over HTTP, once and not for long. A failure is a value. */
  listModels(provider: string, options: { grant?: Grant; signal: AbortSignal }): Promise<ModelList>
  factsOf(target: Target): KnownFacts
  /** From the dated table; undefined is unknown. */
  priceOf(target: Target): Price | undefined
}
