/** Leaves out the undefined fields, so that the result fits optional ones under `exactOptionalPropertyTypes`. */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept: Record<string, unknown> = {}
  // Twice as fast as `Object.entries`; literals inherit no enumerable field.
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) kept[name] = value
  }
  return kept as Defined<T>
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
