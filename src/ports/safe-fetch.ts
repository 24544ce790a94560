/** As `fetch`, for addresses somebody else chose: it decides on every hop, and rejects with a reason. */
export type SafeFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * `public`: a model, a tool or an ordinary key asks; nothing of this machine or its network may be reached. `configured`: an
 * administrator wrote the address down; it may be anywhere, but where it redirects to is a stranger's wish again.
 */
export type AddressTrust = 'public' | 'configured'

/** The way out, for whoever may reach how far. */
export type Outbound = {
  /** What is wrong with an address, as far as it can be seen before its name is resolved; undefined if nothing is. */
  addressFault(url: string, reach: AddressTrust): string | undefined
  fetch: Readonly<Record<AddressTrust, SafeFetch>>
}

/** It was not asked: the address, or what it leads to, is not allowed. */
export class RefusedFetch extends Error {
  readonly code = 'ERR_REFUSED_FETCH'
  constructor(reason: string) {
    super(reason)
    this.name = 'RefusedFetch'
  }
}
