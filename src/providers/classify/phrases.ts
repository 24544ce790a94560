import type { Phrase } from './phrase.ts'
import { ACCOUNT_PHRASES, MODEL_AND_KEY_PHRASES, SERVER_PHRASES } from './provider-phrases.ts'
import { REPAIRABLE_PHRASES, SIZE_PHRASES } from './request-phrases.ts'

/** Order matters: the first match wins. */
export const PHRASES: readonly Phrase[] = [
  ...REPAIRABLE_PHRASES,
  ...SERVER_PHRASES,
  ...ACCOUNT_PHRASES,
  ...SIZE_PHRASES,
  ...MODEL_AND_KEY_PHRASES,
]
