import type { StdioPrograms } from '../../ports/stdio-programs.ts'
import type { WorkspacesOptions } from '../workspaces-options.ts'

/** Loads the implementation with the first program. */
export function lazyStdioPrograms(options: WorkspacesOptions): StdioPrograms {
  let loading: Promise<StdioPrograms> | undefined
  const load = async () => (await import('./stdio-programs.ts')).newStdioPrograms(options)
  const loaded = () => {
    loading ??= load()
    return loading
  }
  return {
    start: async (request, events) => (await loaded()).start(request, events),
    remove: async (id) => (await loaded()).remove(id),
    close: async () => (await loading)?.close(),
  }
}
