import type { Phrase } from './phrase.ts'
import { ACCOUNTS, NAMES, TROUBLE } from './provider-phrases.ts'
import { REPAIRABLE, SIZES } from './request-phrases.ts'

/** In order: the first that fits is what happened. */
export const PHRASES: readonly Phrase[] = [...REPAIRABLE, ...TROUBLE, ...ACCOUNTS, ...SIZES, ...NAMES]
