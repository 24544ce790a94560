import { type NewAccount, prepareAccount } from './config/add-account.ts'
import type { AccountSettings } from './core/gateway/settings.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Credentials } from './ports/credentials.ts'
import type { Environment } from './ports/environment.ts'
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

const CHECK_MS = 20_000

/** Asks the platform whose token this is, and writes the account into config.yaml if it knows. */
export async function addChatAccount(
  account: NewAccount,
  environment: Environment,
): Promise<{ type: 'added'; file: string; bot: string } | { type: 'refused'; reason: string }> {
  const { settings, file, write } = prepareAccount(account, environment)
  const { openPlatform } = await import('./gateway/platforms.ts')
  const platform = await openPlatform(settings)
  try {
    const identified = await platform.identify(AbortSignal.timeout(CHECK_MS))
    if (identified.type === 'failed') return { type: 'refused', reason: identified.failure.detail }
    write()
    return { type: 'added', file, bot: identified.identity.name }
  } finally {
    await platform.close()
  }
}
