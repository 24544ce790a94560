import type { AccountSettings } from './core/gateway/settings.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Credentials } from './ports/credentials.ts'
import type { ProviderSet } from './providers/provider-set.ts'
import type { ServiceContext } from './service/service-context.ts'

type GatewayParts = { context: ServiceContext; set: ProviderSet; credentials: Credentials }

/** The gateway with its platforms and the transcription of voice notes. Loaded only if an account is configured. */
export async function composeGateway(
  accounts: Readonly<Record<string, AccountSettings>>,
  { context, set, credentials }: GatewayParts,
): Promise<Gateway | undefined> {
  if (!context.engine || Object.keys(accounts).length === 0) return undefined
  const [{ startGateway }, { openPlatform }, { newTranscriber }] = await Promise.all([
    import('./gateway/gateway.ts'),
    import('./gateway/platforms.ts'),
    import('./providers/transcriber.ts'),
  ])
  const transcribe = newTranscriber({ set, credentials, clock: context.deps.clock })
  return startGateway({
    accounts,
    context: { ...context, caller: { ...context.caller, actor: 'gateway' } },
    open: openPlatform,
    transcribe: ({ transcription: model }) =>
      model === undefined ? undefined : (voice, signal) => transcribe(model, voice, signal),
  })
}
