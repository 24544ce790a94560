import { Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import type { FlowOverrides } from '../../../src/providers/credentials/oauth-flows.ts'
import { loadUndici } from '../../../src/providers/load-undici.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import type { Vendors } from './vendors.ts'

/** A client of the token endpoint: responses reach it only while it is alive and not paused. */
export type TokenClient = {
  name: string
  readonly isAlive: boolean
  readonly isPaused: boolean
  inside(task: () => void): void
  kill(why: string): void
}

export type TokenServer = {
  /** Each process has its own endpoint address, so that the server can identify it. */
  flowsFor(client: TokenClient): FlowOverrides
  close(): void
}

type TokenServerDeps = {
  kernel: Kernel
  injector: FaultInjector
  vendors: Vendors
  tokenUsed(token: string, client: TokenClient): void
  /** Called when the response with the new tokens is lost. */
  responseLost(token: string): void
}

export const FLOW = 'generic'

// Load the module now: loading takes real time, and a seed would not be repeatable.
await loadUndici()

/**
 * The token endpoint, below the HTTP client of the product and on the virtual clock. A refresh token counts as used
 * whether or not the response arrives.
 */
export function openTokenServer({ kernel, injector, vendors, tokenUsed, responseLost }: TokenServerDeps): TokenServer {
  const clients = new Map<string, TokenClient>()
  const usual = getGlobalDispatcher()

  class Endpoint extends Dispatcher {
    override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      const client = clients.get(new URL(String(options.origin)).hostname)
      const token = new URLSearchParams(String(options.body)).get('refresh_token') ?? ''
      const isDown = injector.strikes('token-down')
      const isLost = injector.strikes('token-lost')
      const isDeadly = injector.strikes('token-kills')
      handler.onConnect?.(() => {})
      kernel.after(kernel.between(1, 200), () => {
        if (!client?.isAlive) return
        if (isDown) return answer(client, 503, { error: 'temporarily_unavailable' })
        tokenUsed(token, client)
        const tokens = vendors.renew(token)
        if (!tokens) return answer(client, 400, { error: 'invalid_grant' })
        if (isDeadly) client.kill('it dies with a new token in hand')
        if (isLost || isDeadly) responseLost(token)
        if (isLost) return client.inside(() => handler.onError?.(new Error('simulated cut')))
        const { secret, refreshToken, lastsMs } = tokens
        answer(client, 200, { access_token: secret, refresh_token: refreshToken, expires_in: lastsMs / 1_000 })
      })
      return true

      function answer(to: TokenClient, status: number, body: object) {
        to.inside(() => {
          handler.onHeaders?.(status, [], () => {}, '')
          handler.onData?.(Buffer.from(JSON.stringify(body)))
          handler.onComplete?.([])
        })
      }
    }
  }
  setGlobalDispatcher(new Endpoint())
  return {
    flowsFor(client) {
      const host = `tokens-${client.name}.simulated`
      clients.set(host, client)
      return { [FLOW]: { tokenUrl: `http://${host}/token` } }
    },
    close: () => setGlobalDispatcher(usual),
  }
}
