const load = () => import('@modelcontextprotocol/sdk/client/auth.js')

export type SdkAuth = Awaited<ReturnType<typeof load>>

let loading: Promise<SdkAuth> | undefined

/** Loads the OAuth client of the SDK on first use. */
export const loadAuth = (): Promise<SdkAuth> => {
  loading ??= load()
  return loading
}
