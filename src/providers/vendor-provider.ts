import type { ModelProvider } from '../ports/model.ts'
import { classify, classifyTransport } from './classify/classify.ts'
import { newWireProvider, type WireProviderOptions } from './wire/wire-provider.ts'

export type VendorProviderOptions = Omit<WireProviderOptions, 'classify' | 'classifyTransport'>

/** A wire provider with the shared failure classifier. */
export const newVendorProvider = (vendor: VendorProviderOptions): ModelProvider =>
  newWireProvider({ ...vendor, classify, classifyTransport })
