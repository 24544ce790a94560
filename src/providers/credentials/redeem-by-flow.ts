import type { Clock } from '../../ports/clock.ts'
import type { RedeemRefreshToken } from '../../ports/token-refresh.ts'
import { type FlowOverrides, findFlow } from './oauth-flows.ts'
import { refreshTokens } from './token-endpoint.ts'

/** Sends refresh tokens of providers to the endpoint of their flow. */
export const redeemByFlow =
  (flows: FlowOverrides, clock: Pick<Clock, 'now'>): RedeemRefreshToken =>
  async ({ oauth }, refreshToken) => {
    const flow = oauth && findFlow(oauth, flows)
    if (!flow) return { type: 'unavailable', detail: `unknown OAuth flow "${oauth?.flow ?? ''}"` }
    return refreshTokens(refreshToken, { flow, now: clock.now(), signal: new AbortController().signal })
  }
