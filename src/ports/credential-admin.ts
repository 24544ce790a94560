import type { CredentialId } from '../core/credential.ts'
import type { SecretBox } from './secret-box.ts'

/** What people do with credentials, beside letting agents use them. */
export type CredentialAdmin = {
  box: SecretBox
  /** Keys that are used as they are found; they cannot be changed from here. */
  environment(): EnvironmentCredential[]
  /** A login with a code, where the vendor has one. */
  startDeviceFlow(provider: string, options: { label: string; signal: AbortSignal }): Promise<DeviceFlowStart>
}

/** `hint` is the masked tail of the key. */
export type EnvironmentCredential = { id: CredentialId; provider: string; variable: string; hint: string }

export type DeviceFlowStart =
  | { type: 'started'; flow: DeviceFlow }
  | { type: 'unsupported' }
  | { type: 'failed'; detail: string }

export type DeviceFlow = {
  userCode: string
  verificationUrl: string
  /** Resolves when the person is done, and the credential is kept by then. */
  poll(signal: AbortSignal): Promise<DeviceOutcome>
}

export type DeviceOutcome =
  | { type: 'stored'; credentialId: CredentialId }
  | { type: 'denied' }
  | { type: 'expired' }
  | { type: 'cancelled' }
  | { type: 'failed'; detail: string }
