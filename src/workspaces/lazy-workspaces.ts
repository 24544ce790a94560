import type { Workspaces } from '../ports/workspaces.ts'

/** Loaded with the first question: a process that runs a turn and ends has none, and is spared the time. */
export function lazyWorkspaces(load: () => Promise<Workspaces>): Workspaces {
  let loading: Promise<Workspaces> | undefined
  const loaded = () => {
    loading ??= load().catch((fault) => {
      loading = undefined
      throw fault
    })
    return loading
  }
  return {
    open: async (conversationId) => (await loaded()).open(conversationId),
    find: async (conversationId) => (await loaded()).find(conversationId),
    list: async () => (await loaded()).list(),
    peek: async (conversationId) => (await loaded()).peek(conversationId),
    inspect: async (conversationId) => (await loaded()).inspect(conversationId),
    remove: async (conversationId) => (await loaded()).remove(conversationId),
    check: async () => (await loaded()).check(),
    processWatches: {
      add: async (awaited) => (await loaded()).processWatches.add(awaited),
      list: async () => (await loaded()).processWatches.list(),
      remove: async (awaited) => (await loaded()).processWatches.remove(awaited),
    },
    close: async () => (await loading)?.close(),
  }
}
