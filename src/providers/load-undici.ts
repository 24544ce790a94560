type Undici = typeof import('undici')

let loading: Promise<Undici> | undefined

/** Takes a tenth of a second to load; a process that asks no provider is spared it. */
export const loadUndici = (): Promise<Undici> => {
  // By its default: bundled, a package that is no module has no other export.
  loading ??= import('undici').then((loaded) => loaded.default as unknown as Undici)
  return loading
}
