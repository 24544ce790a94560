async function load() {
  const [{ Client }, { StreamableHTTPClientTransport }, { SSEClientTransport, SseError }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/client/sse.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  return { Client, StreamableHTTPClientTransport, SSEClientTransport, SseError, ...types }
}

export type Sdk = Awaited<ReturnType<typeof load>>

let loading: Promise<Sdk> | undefined

/** Loads the SDK on first use. */
export const loadSdk = (): Promise<Sdk> => {
  loading ??= load()
  return loading
}
