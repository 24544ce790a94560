import { Problem } from '../core/problem.ts'
import type { DeviceFlow } from '../ports/credential-care.ts'
import { requireCare } from './credential-desk.ts'
import type { Desk } from './desk.ts'
import { requireProviderName } from './find-provider.ts'

export type SignIn = { provider: string; label?: string; signal: AbortSignal }

/** Begins a login with a code, where the vendor has one. Nothing is kept before the person is done. */
export async function signIn({ provider, label, signal }: SignIn, desk: Desk): Promise<DeviceFlow> {
  const care = requireCare(desk)
  requireProviderName(provider, desk)
  const started = await care.startDeviceFlow(provider, { label: label?.trim() || 'default', signal })
  switch (started.type) {
    case 'started':
      return started.flow
    case 'unsupported':
      throw new Problem(
        'invalid',
        `${provider} has no login with a code. Add a key: \`holdfast auth add ${provider}\`.`,
      )
    case 'failed':
      throw new Problem('unavailable', `The login at ${provider} could not begin: ${started.detail}.`)
  }
}
