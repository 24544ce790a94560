import { apiPage } from './api-page.ts'
import { buildOpenApi, type OpenApi } from './openapi.ts'
import type { Operation } from './operation.ts'

/** The OpenAPI document and the API page, both built on first use. */
export function newApiDescription(operations: readonly Operation[], version: string) {
  let made: { document: OpenApi; text: string } | undefined
  let page: { address: string; text: string } | undefined
  const describe = () => {
    if (made) return made
    const document = buildOpenApi(operations, version)
    made = { document, text: JSON.stringify(document) }
    return made
  }
  return {
    document: () => describe().text,
    page(address: string) {
      if (page?.address !== address) page = { address, text: apiPage(describe().document, address) }
      return page.text
    },
  }
}
