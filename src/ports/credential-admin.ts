import type { CredentialId } from '../core/credential.ts'
import type { SecretBox } from './secret-box.ts'

/** Operations for administrators of credentials: encryption, keys of the environment, device logins. */
export type CredentialAdmin = {
  box: SecretBox
  /** Keys from environment variables; read-only. */
  environment(): EnvironmentCredential[]
  /** Starts an OAuth device login, if the vendor supports one. */
  startDeviceFlow(provider: string, options: { label: string; signal: AbortSignal }): Promise<DeviceFlowStart>
}

/** `hint` is the masked end of the key. */
export type EnvironmentCredential = { id: CredentialId; provider: string; variable: string; hint: string }

export type DeviceFlowStart =
  | { type: 'started'; flow: DeviceFlow }
  | { type: 'unsupported' }
  | { type: 'failed'; detail: string }

export type DeviceFlow = {
  userCode: string
  verificationUrl: string
  /** Resolves when the person has finished the login; a new credential is stored by then. */
  poll(signal: AbortSignal): Promise<DeviceOutcome>
}

export type DeviceOutcome =
  | { type: 'stored'; credentialId: CredentialId }
  | { type: 'denied' }
  | { type: 'expired' }
  | { type: 'cancelled' }
  | { type: 'failed'; detail: string }
