/** How remedies change one request. They change the copy that is sent, never the stored messages. */
export type RequestAdjustments = {
  /** Leave out reasoning and its signatures. */
  stripSignatures?: true
  /** Leave out encrypted reasoning items. */
  dropEncryptedReasoning?: true
  /** Scale images down to this length of the longer side, and encode them again. */
  shrinkImages?: { maxSide: number }
  /** Replace every image with a note. */
  stripImages?: true
  /** Replace images in tool results with a note. */
  textOnlyResults?: true
  dropLongContextBeta?: true
  /** Remove keywords that grammars cannot express (`pattern`, `format`, …) from tool schemas. */
  relaxSchemas?: true
}
