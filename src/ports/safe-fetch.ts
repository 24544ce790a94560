/** `fetch` for caller-supplied URLs: checks the address on every hop, and rejects with a reason. */
export type SafeFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * Who supplied the address. `public`: a model, a tool or an ordinary key; nothing on this machine or its network is
 * reachable. `configured`: an operator; any address is allowed, but redirects to another host count as `public`.
 */
export type AddressTrust = 'public' | 'configured'

/** Outbound HTTP, by trust level. */
export type Outbound = {
  /** Why an address is refused, as far as that is known before its name is resolved; undefined if it is allowed. */
  addressFault(url: string, trust: AddressTrust): string | undefined
  fetch: Readonly<Record<AddressTrust, SafeFetch>>
}

/** No request was sent: the address, or the one it redirects to, is not allowed. */
export class RefusedFetch extends Error {
  readonly code = 'ERR_REFUSED_FETCH'
  constructor(reason: string) {
    super(reason)
    this.name = 'RefusedFetch'
  }
}
