import { newWebhookKey } from '../../core/webhook-secret.ts'
import type { ServiceContext } from '../service-context.ts'

/** Each uuid has 74 random bits; five of them exceed the 256 bits of the key. */
const UUIDS_PER_KEY = 5

export const makeKey = ({ digest, randomness }: Pick<ServiceContext['deps'], 'digest' | 'randomness'>): string =>
  newWebhookKey(digest(Array.from({ length: UUIDS_PER_KEY }, () => randomness.uuid()).join()))
