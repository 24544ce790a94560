import { defined } from '../../../src/core/defined.ts'

/** A client of one tenant, over plain HTTP. */
export type TenantClient = {
  request(
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<{ status: number; body: unknown }>
  url: string
  key: string
}

export function tenantClient(url: string, key: string): TenantClient {
  return {
    url,
    key,
    async request(method, path, body, signal) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...defined({ body: body === undefined ? undefined : JSON.stringify(body), signal }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? null : JSON.parse(text) }
    },
  }
}

export async function made(answer: Promise<{ status: number; body: unknown }>): Promise<{ id: string; key: string }> {
  const { status, body } = await answer
  if (status !== 200) throw new Error(`status ${status}: ${JSON.stringify(body)}`)
  return body as { id: string; key: string }
}
