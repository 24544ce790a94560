import type { Credentials } from '../../src/ports/credentials.ts'

/** For providers that need no key: the scripted model, local servers. */
export const noCredentials: Credentials = {
  choose: async () => ({ type: 'none' }),
  refresh: async () => ({ type: 'unchanged' }),
}
