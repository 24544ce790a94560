import type { ModelProvider } from '../ports/model.ts'

/** The fields of a provider that are known without loading its code. */
type ProviderDescription = Omit<ModelProvider, 'stream' | 'renewConnections'>

/** A provider whose code is loaded with its first request: a process lists many vendors and calls only a few. */
export function newLazyProvider(description: ProviderDescription, load: () => Promise<ModelProvider>): ModelProvider {
  let loading: Promise<ModelProvider> | undefined
  let loaded: ModelProvider | undefined

  const loadThenStream: ModelProvider['stream'] = async function* (request, options) {
    loading ??= load().catch((fault) => {
      // Retry at the next request: a load can fail for lack of file descriptors, which may be free again by then.
      loading = undefined
      throw fault
    })
    loaded = await loading
    yield* loaded.stream(request, options)
  }

  return {
    ...description,
    // Once loaded, the provider is called directly: passing each part through a generator costs three ticks.
    stream: (request, options) => (loaded?.stream ?? loadThenStream)(request, options),
    renewConnections: async () => loaded?.renewConnections?.(),
  }
}
