import type { ModelProvider } from '../ports/model.ts'

/** What is known of a provider before it is asked. */
type ProviderDescription = Omit<ModelProvider, 'stream' | 'renewConnections'>

/** A provider that is loaded with its first request: a process knows many vendors and asks few of them. */
export function newLazyProvider(description: ProviderDescription, load: () => Promise<ModelProvider>): ModelProvider {
  let loading: Promise<ModelProvider> | undefined
  let loaded: ModelProvider | undefined

  const loadThenStream: ModelProvider['stream'] = async function* (request, options) {
    loading ??= load().catch((fault) => {
      // A load that failed is not the last word: descriptors may be free again at the next request.
      loading = undefined
      throw fault
    })
    loaded = await loading
    yield* loaded.stream(request, options)
  }

  return {
    ...description,
    // Once it is there nothing stands between: passing every part on would cost each of them three ticks.
    stream: (request, options) => (loaded?.stream ?? loadThenStream)(request, options),
    renewConnections: async () => loaded?.renewConnections?.(),
  }
}
