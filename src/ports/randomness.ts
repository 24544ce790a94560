/** The only source of randomness, so that a seed reproduces a whole simulation. */
export type Randomness = {
  uuid(): string
  /** In [0, 1). */
  fraction(): number
}
