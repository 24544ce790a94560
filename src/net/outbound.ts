import type { Outbound } from '../ports/safe-fetch.ts'
import { addressFault, newSafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

export const newOutbound = (limits: Omit<SafeFetchOptions, 'reach'>): Outbound => ({
  addressFault: (url, reach) => addressFault(url, { ...limits, reach }),
  fetch: {
    public: newSafeFetch({ ...limits, reach: 'public' }),
    configured: newSafeFetch({ ...limits, reach: 'configured' }),
  },
})
