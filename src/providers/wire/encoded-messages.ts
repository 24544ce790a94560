import type { MessageBody } from '../../core/message.ts'

/**
 * Cache of the encodings of committed messages, kept as long as the messages themselves: a request is a concatenation.
 * `form` is everything except the body that affects the encoding (remedies, quirks); `keyOf` is its cache key.
 */
type EncodedMessages<Form> = {
  /** One message as the dialect encodes it: JSON values separated by commas, or an empty string. */
  one(body: MessageBody, form: Form): string
  /** All messages, separated by commas. */
  joined(bodies: readonly MessageBody[], form: Form): string
}

/** Remedies make a handful of forms; above this limit one of them varies, and the oldest cache is dropped. */
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
