import type { Workspaces } from '../ports/workspaces.ts'

/** Loads the implementation on first use: a process that runs one turn without a workspace does not pay for it. */
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
    openPage: async (request) => (await loaded()).openPage(request),
    closePage: async (conversationId, pageId) => (await loading)?.closePage(conversationId, pageId) ?? false,
    check: async () => (await loaded()).check(),
    countOf: async (organizationId) => (await loaded()).countOf(organizationId),
    openEgress: async (request) => (await loaded()).openEgress(request),
    processWatches: {
      add: async (watch) => (await loaded()).processWatches.add(watch),
      list: async () => (await loaded()).processWatches.list(),
      remove: async (watch) => (await loaded()).processWatches.remove(watch),
    },
    close: async () => (await loading)?.close(),
  }
}
