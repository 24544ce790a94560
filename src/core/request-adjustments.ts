/** What remedies ask of one request. They change the copy that is sent, never what is stored. */
export type RequestAdjustments = {
  /** Leave out thoughts with their signatures. */
  stripSignatures?: true
  /** Leave out encrypted reasoning items. */
  dropEncryptedReasoning?: true
  /** Images no larger than this on their longer side, and re-encoded. */
  shrinkImages?: { maxSide: number }
  /** No images at all; a text in their place says so. */
  stripImages?: true
  /** Images in tool results become text. */
  textOnlyResults?: true
  dropLongContextBeta?: true
  /** Tool schemas without `pattern`, `format` and what else grammars cannot express. */
  relaxSchemas?: true
}
