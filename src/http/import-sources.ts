import { DEFAULT_ORGANIZATION } from '../core/id.ts'
import type { ImportSources } from '../ports/import-source.ts'
import type { Outbound } from '../ports/safe-fetch.ts'
import type { ServiceContext } from '../service/service-context.ts'

/** An old server is slow, and a page of it may be long: `requests.ts` asks for less of one that is longer. */
export const IMPORT_LIMITS = { maxBytes: 80 * 1024 * 1024, headersTimeoutMs: 120_000, idleTimeoutMs: 30_000 }

/** The sources of imports, whose code is loaded with the first import. Operators may read any address. */
export const newImportSources =
  (contextOf: () => ServiceContext, outbound: Outbound): ImportSources =>
  (origin) => ({
    async *read(request) {
      if (origin.type === 'file') {
        const { exportFileSource } = await import('./holdfast/export-file/read-export.ts')
        yield* exportFileSource(origin.path).read(request)
        return
      }
      const { oldServerSource } = await import('./letta/old-server/old-server.ts')
      const fetch = outbound.fetch[request.organizationId === DEFAULT_ORGANIZATION ? 'configured' : 'public']
      yield* oldServerSource({ url: origin.url, fetch, context: contextOf() }).read(request)
    },
  })
