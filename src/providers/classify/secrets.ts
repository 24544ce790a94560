const MASK = '[secret]'

/** Prefixes of keys. A vendor may echo the key, whole or in part. */
const KEYS: readonly RegExp[] = [
  /\bBearer\s+[^\s"',;)]{8,}/gi,
  /\bBasic\s+[A-Za-z0-9+/=]{8,}/g,
  /\b(?:sk|pk|rk|ak|csk|fw)-[\w*.-]{4,}/gi,
  /\bkey-[\w*.-]{16,}/gi,
  /\b(?:gsk|hf|r8|tgp|nvapi|pplx|xai|ghp|gho|ghu|ghs|ghr|github_pat|vck|sess|glpat)[-_][\w*.-]{8,}/gi,
  /\b(?:AIza|ya29\.|AKIA|ASIA)[\w*.-]{8,}/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]+)*/g,
]
const NAMED =
  /((?:api[-_ ]?key|access[-_ ]?token|refresh[-_ ]?token|authorization|client[-_ ]?secret|password|[?&]key)["']?\s*[:=]\s*["']?)[^\s"',;&)]{4,}/gi
const LONG = /[\w+/-]{40,}={0,2}/g

export function maskSecrets(text: string): string {
  return maskKeys(text).replace(LONG, (word) => (isMixed(word) ? MASK : word))
}

/** For codes and ids, which may be long without being secret. */
export function maskKeys(text: string): string {
  const masked = KEYS.reduce((masked, key) => masked.replace(key, MASK), text)
  return masked.replace(NAMED, (_all, name) => `${name}${MASK}`)
}

/** Tokens without a known prefix and encrypted content are long and mix letters and digits; names have few digits. */
const isMixed = (word: string): boolean => /[A-Za-z]/.test(word) && word.replace(/\D/g, '').length >= 3
