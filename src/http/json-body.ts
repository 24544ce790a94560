import { Problem } from '../core/problem.ts'
import { checkJsonShape, type JsonLimits } from './json-shape.ts'

/** Parses a JSON body. An empty body is undefined: some clients send a content type without a body. */
export function readJson(body: Buffer, limits: JsonLimits): unknown {
  if (body.length === 0) return undefined
  checkJsonShape(body, limits)
  const value = parseJson(decodeUtf8(body))
  dropPrototypes(value)
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

/** Drops `__proto__` keys. Iterative: recursion could overflow the stack. */
function dropPrototypes(root: unknown): void {
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (value === null || typeof value !== 'object') continue
    Reflect.deleteProperty(value, '__proto__')
    for (const inner of Object.values(value)) if (inner !== null && typeof inner === 'object') waiting.push(inner)
  }
}
