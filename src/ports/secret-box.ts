/**
 * Encryption at rest. The context (a credential's id) is authenticated: a ciphertext moved to another row does not
 * open. Undefined: it is damaged, or sealed with a key that this home does not have.
 */
export type SecretBox = {
  seal(plain: string, context: string): string
  open(sealed: string, context: string): string | undefined
}

/** Keys of the secret box, for rotation. Key ids reveal nothing about the keys. */
export type SecretKeys = {
  box: SecretBox
  /** Makes a new key current; old keys still open what they sealed. Returns the ids of the old keys. */
  addKey(): string[]
  /** Whether the current key sealed this. */
  isCurrent(sealed: string): boolean
  /** Nothing sealed with these keys opens afterwards. The caller checks that none of them is still in use. */
  dropKeys(ids: readonly string[]): void
}
