import type { NoteKind } from '../../core/target.ts'

/** What a note does to each request. */
export const NOTE_TEXT: Record<NoteKind, string> = {
  window: 'a window',
  textOnlyResults: 'no images in tool results',
  relaxSchemas: 'simpler tool schemas',
  dropLongContextBeta: 'no long-context beta',
  dropEncryptedReasoning: 'no encrypted reasoning',
}
