import type { Outbound } from '../ports/safe-fetch.ts'
import { addressFault, newSafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

export const newOutbound = (limits: Omit<SafeFetchOptions, 'trust'>): Outbound => ({
  addressFault: (url, trust) => addressFault(url, { ...limits, trust }),
  fetch: {
    public: newSafeFetch({ ...limits, trust: 'public' }),
    configured: newSafeFetch({ ...limits, trust: 'configured' }),
  },
})
