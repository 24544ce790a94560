/** The only source of chance, so that a seed can reproduce a whole day. */
export type Randomness = {
  uuid(): string
  /** In [0, 1). */
  fraction(): number
}
