import { defined } from '../core/defined.ts'
import type { AccountSettings } from '../core/gateway/settings.ts'
import { ensureAccount } from '../service/gateway/accounts.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { startAccount } from './account.ts'
import type { Transcribe } from './account-deps.ts'
import type { OpenPlatform } from './platforms.ts'

export type Gateway = {
  /** Gives the accounts back; calls in flight are settled first. */
  stop(): Promise<void>
}

type GatewayOptions = {
  accounts: Readonly<Record<string, AccountSettings>>
  context: ServiceContext
  open: OpenPlatform
  transcribe?(settings: AccountSettings): Transcribe | undefined
}

/** Connects agents to chat platforms. Each account runs on its own: one that fails does not disturb the others. */
export function startGateway({ accounts, context, open, transcribe }: GatewayOptions): Gateway {
  const stopping = new AbortController()
  const running = Object.entries(accounts).map(async ([name, settings]) => {
    await untilDone(() => ensureAccount({ name, platform: settings.platform }, context), context, stopping.signal)
    const voice = transcribe?.(settings)
    await startAccount({
      name,
      settings,
      context,
      open,
      signal: stopping.signal,
      ...defined({ transcribe: voice }),
    })
  })
  return {
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

const RETRY_MS = 1_000

async function untilDone(work: () => Promise<void>, { deps }: ServiceContext, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await work()
    } catch (fault) {
      deps.report(fault, 'starting the gateway')
      await deps.clock.sleep(RETRY_MS, signal)
    }
  }
}
