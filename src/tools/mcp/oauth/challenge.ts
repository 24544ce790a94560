import { defined } from '../../../core/defined.ts'
import type { SdkAuth } from './load-auth.ts'

/** How a server asks for authorization, or for more of it. */
export type Challenge = { metadataUrl?: URL; scope?: string; isForScope: boolean }

/** Undefined: the response asks for none. */
export function challengeOf(response: Response, { extractWWWAuthenticateParams }: SdkAuth): Challenge | undefined {
  if (response.status !== 401 && response.status !== 403) return undefined
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response)
  const isForScope = error === 'insufficient_scope'
  if (response.status === 403 && !isForScope) return undefined
  return { isForScope, ...defined({ metadataUrl: resourceMetadataUrl, scope }) }
}
