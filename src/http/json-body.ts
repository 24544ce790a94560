import { refuse } from './letta/errors.ts'

/** A JSON body as a caller sent it. No body is an empty one: some clients name the type of nothing. */
export function readJson(body: Buffer, maxDepth: number): unknown {
  if (body.length === 0) return undefined
  const value = parse(text(body))
  tidy(value, maxDepth)
  return value
}

function text(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw refuse(422, 'body: is not valid UTF-8')
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (fault) {
    throw refuse(422, `body: is not valid JSON: ${(fault as Error).message.slice(0, 200)}`)
  }
}

/** Refuses what is nested too deeply and drops keys that would reach a prototype. Without recursion, for deep ones. */
function tidy(root: unknown, maxDepth: number): void {
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw refuse(422, `body: is nested deeper than ${maxDepth} levels`)
    const next: unknown[] = []
    for (const value of level) {
      if (value === null || typeof value !== 'object') continue
      Reflect.deleteProperty(value, '__proto__')
      for (const inner of Object.values(value)) if (inner !== null && typeof inner === 'object') next.push(inner)
    }
    level = next
  }
}
