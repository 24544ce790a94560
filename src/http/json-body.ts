import { Problem } from '../core/problem.ts'

/** Parses a JSON body. An empty body is undefined: some clients send a content type without a body. */
export function readJson(body: Buffer, maxDepth: number): unknown {
  if (body.length === 0) return undefined
  const value = parseJson(decodeUtf8(body))
  sanitize(value, maxDepth)
  return value
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new Problem('invalid', 'body: is not valid UTF-8')
  }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (fault) {
    throw new Problem('invalid', `body: is not valid JSON: ${(fault as Error).message.slice(0, 200)}`)
  }
}

/** Parses a form into one object of files and fields, without empty fields. */
export async function readForm(body: Buffer, contentType: string): Promise<Record<string, unknown>> {
  const form = await parseForm(body, contentType)
  return Object.fromEntries([...form.entries()].filter(([, value]) => value !== ''))
}

async function parseForm(body: Buffer, contentType: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch {
    throw new Problem('invalid', 'body: is not a valid multipart form')
  }
}

/**
 * Rejects bodies that are nested too deeply and drops `__proto__` keys. Iterative: recursion could overflow the stack.
 */
function sanitize(root: unknown, maxDepth: number): void {
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw new Problem('invalid', `body: is nested deeper than ${maxDepth} levels`)
    const next: unknown[] = []
    for (const value of level) {
      if (value === null || typeof value !== 'object') continue
      Reflect.deleteProperty(value, '__proto__')
      for (const inner of Object.values(value)) if (inner !== null && typeof inner === 'object') next.push(inner)
    }
    level = next
  }
}
