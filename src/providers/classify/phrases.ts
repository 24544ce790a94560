import type { Phrase } from './phrase.ts'
import { ACCOUNTS, NAMES, TROUBLE } from './provider-phrases.ts'
import { REPAIRABLE, SIZES } from './request-phrases.ts'

/** Order matters: the first match wins. */
export const PHRASES: readonly Phrase[] = [...REPAIRABLE, ...TROUBLE, ...ACCOUNTS, ...SIZES, ...NAMES]
