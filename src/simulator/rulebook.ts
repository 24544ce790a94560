import type { ParsedModelRequest } from './parse-request.ts'
import type { Answer, Protocol, Rule, Script, When } from './script.ts'
import { isModelProtocol } from './vendor-errors.ts'

/** The rules of a script, with counts of their matches and uses. */
type Rulebook = {
  /** The answer of the first rule that matches; undefined without a match. */
  take(request: Matchable): Answer | undefined
}

/** Model requests have every field, other requests only the common ones. */
type Matchable = { protocol: Protocol; key: string | undefined; raw: string } & Partial<
  Omit<ParsedModelRequest, 'protocol' | 'key' | 'raw'>
>

export function newRulebook(script: Script): Rulebook {
  const matched = script.map(() => 0)
  const used = script.map(() => 0)
  return {
    take(request) {
      const candidates = script.flatMap((rule, at) => {
        if (!matches(rule.when ?? {}, request)) return []
        matched[at]! += 1
        return isDue(rule, { matched: matched[at]!, used: used[at]! }) ? [at] : []
      })
      const chosen = candidates[0]
      if (chosen === undefined) return undefined
      used[chosen]! += 1
      return script[chosen]!.answer
    },
  }
}

const isDue = ({ when, times }: Rule, { matched, used }: { matched: number; used: number }): boolean =>
  (when?.attempt === undefined || when.attempt === matched) && (times === undefined || used < times)

/**
 * Checks all conditions but `attempt`, which counts the requests that match the others. A rule without `protocol`
 * matches model requests only.
 */
const matches = (when: When, request: Matchable): boolean =>
  (when.protocol !== undefined || isModelProtocol(request.protocol)) &&
  (Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[]).every(
    (name) => when[name] === undefined || CONDITIONS[name](when[name] as never, request),
  )

type Conditions = {
  [Name in Exclude<keyof When, 'attempt'>]-?: (wanted: NonNullable<When[Name]>, request: Matchable) => boolean
}

const CONDITIONS: Conditions = {
  model: (wanted, request) => request.model === wanted,
  key: (wanted, request) => request.key === wanted,
  path: (wanted, request) => request.path?.includes(wanted) ?? false,
  protocol: (wanted, request) => request.protocol === wanted,
  contains: (wanted, { raw }) => raw.includes(wanted) || raw.includes(JSON.stringify(wanted).slice(1, -1)),
  lastContains: (wanted, request) => request.lastMessage?.includes(wanted) ?? false,
  headers: (wanted, { headers }) =>
    Object.entries(wanted).every(([name, part]) => String(headers?.[name.toLowerCase()] ?? '').includes(part)),
  streams: (wanted, request) => request.streams === wanted,
  hasTools: (wanted, request) => request.hasTools === wanted,
  hasImages: (wanted, request) => request.hasImages === wanted,
  hasToolImages: (wanted, request) => request.hasToolImages === wanted,
  hasSignatures: (wanted, request) => request.hasSignatures === wanted,
  hasEncrypted: (wanted, request) => request.hasEncrypted === wanted,
  maxTokensAbove: (wanted, request) => (request.maxTokens ?? 0) > wanted,
  messagesAbove: (wanted, request) => (request.messages ?? 0) > wanted,
  bytesAbove: (wanted, { raw }) => Buffer.byteLength(raw) > wanted,
}
