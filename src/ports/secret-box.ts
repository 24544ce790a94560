/**
 * Encryption at rest. The context (a credential's id) is authenticated: a ciphertext moved to another row does not open.
 * Undefined: it was sealed with a key that is not here, or it is damaged.
 */
export type SecretBox = {
  seal(plain: string, context: string): string
  open(sealed: string, context: string): string | undefined
}

/** The keys behind a box, for their rotation. Ids name keys and tell nothing about them. */
export type SecretKeys = {
  box: SecretBox
  /** Makes a new key the current one; the old ones still open what they sealed. Answers with the old ones' ids. */
  addKey(): string[]
  /** Whether the current key sealed this. */
  isCurrent(sealed: string): boolean
  /** Which of these still seal something is the caller's knowledge: after this nothing of theirs opens any more. */
  dropKeys(ids: readonly string[]): void
}
