let loading: Promise<typeof import('undici')> | undefined

/** Takes a tenth of a second to load; a process that asks no provider is spared it. */
export const loadUndici = (): Promise<typeof import('undici')> => {
  loading ??= import('undici')
  return loading
}
