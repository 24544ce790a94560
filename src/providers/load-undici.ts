type Undici = typeof import('undici')

let loading: Promise<Undici> | undefined

/** Loaded on first use: it takes a tenth of a second, and many processes call no provider. */
export const loadUndici = (): Promise<Undici> => {
  // A CommonJS package in a bundle has only the default export.
  loading ??= import('undici').then((loaded) => loaded.default as unknown as Undici)
  return loading
}
