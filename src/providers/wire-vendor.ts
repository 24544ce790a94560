import type { ModelProvider } from '../ports/model.ts'
import { classify, classifyTransport } from './classify/classify.ts'
import { type WireOptions, wireProvider } from './wire/wire-provider.ts'

export type WireVendor = Omit<WireOptions, 'classify' | 'classifyTransport'>

/** A vendor whose failures are classified as all vendors' are. */
export const wireVendor = (vendor: WireVendor): ModelProvider =>
  wireProvider({ ...vendor, classify, classifyTransport })
