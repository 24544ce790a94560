import type { PlatformConnection } from '../ports/platform.ts'
import type { GatewayScope } from '../service/gateway/gateway-scope.ts'
import type { ServiceContext } from '../service/service-context.ts'
import type { Ownership } from './ownership.ts'

/** Turns a voice note into text. Undefined: nothing is configured. */
export type Transcribe = (
  voice: { bytes: Uint8Array; mediaType: string; name: string },
  signal: AbortSignal,
) => Promise<{ text: string } | { fault: string }>

/** What the parts of an owned account share. */
export type AccountDeps = {
  scope: GatewayScope
  platform: PlatformConnection
  /** The name of the bot, for commands that are addressed to it. */
  botName(): string | undefined
  context: ServiceContext
  transcribe?: Transcribe
  /** Asked directly before each call that people see. */
  ownership: Pick<Ownership, 'isFresh'>
  /** Aborted when the account is lost or the server stops. */
  signal: AbortSignal
  /** Aborted a little later, so that calls in flight are answered. */
  callSignal: AbortSignal
  /** A fault ends the ownership of the account or is reported; the part tries again. */
  fail(fault: unknown, where: string): void
}
