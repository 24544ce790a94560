import type { MessageBody } from '../../core/message.ts'

/**
 * The serialized forms of committed messages, kept as long as the messages themselves: a request is a concatenation.
 * `form` is everything beside the body that shapes its text (remedies, quirks); `keyOf` tells forms apart.
 */
type EncodedMessages<Form> = {
  /** One message as the dialect writes it: JSON values separated by commas, or nothing. */
  one(body: MessageBody, form: Form): string
  /** All of them, separated by commas. */
  joined(bodies: readonly MessageBody[], form: Form): string
}

/** Remedies make a handful of forms; more than this means that one varies, and the oldest is let go. */
const MAX_FORMS = 16

export function newEncodedMessages<Form>(
  encode: (body: MessageBody, form: Form) => string,
  keyOf: (form: Form) => string,
): EncodedMessages<Form> {
  const caches = new Map<string, WeakMap<MessageBody, string>>()

  function cacheOf(form: Form): WeakMap<MessageBody, string> {
    const key = keyOf(form)
    const cached = caches.get(key)
    if (cached) return cached
    if (caches.size >= MAX_FORMS) caches.delete(caches.keys().next().value!)
    const cache = new WeakMap<MessageBody, string>()
    caches.set(key, cache)
    return cache
  }

  function encodeCached(cache: WeakMap<MessageBody, string>, body: MessageBody, form: Form): string {
    const cached = cache.get(body)
    if (cached !== undefined) return cached
    const text = encode(body, form)
    cache.set(body, text)
    return text
  }

  return {
    one: (body, form) => encodeCached(cacheOf(form), body, form),
    joined(bodies, form) {
      const cache = cacheOf(form)
      let text = ''
      for (const body of bodies) {
        const next = encodeCached(cache, body, form)
        if (next !== '') text += text === '' ? next : ',' + next
      }
      return text
    },
  }
}
