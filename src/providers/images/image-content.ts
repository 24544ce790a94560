/**
 * The formats that vendors take, by their first bytes. Everything else stays away from the decoder: an SVG of 2 KB can
 * keep it busy for minutes.
 */
const FORMATS: { type: string; startsLike(start: Buffer): boolean }[] = [
  { type: 'image/png', startsLike: (start) => start.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')) },
  { type: 'image/jpeg', startsLike: (start) => start.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) },
  { type: 'image/gif', startsLike: (start) => /^GIF8[79]a/.test(start.toString('latin1')) },
  { type: 'image/webp', startsLike: (start) => /^RIFF[\s\S]{4}WEBP/.test(start.toString('latin1')) },
]

const OTHER_NAMES: Record<string, string> = { 'image/jpg': 'image/jpeg', 'image/pjpeg': 'image/jpeg' }

/** Base64 of a body is smaller than this. */
const MAX_BYTES = 32 * 1024 * 1024

/** Why an image must not be decoded; undefined if its content is what its type declares. */
export function contentFault(bytes: Buffer, declared: string): string | undefined {
  if (bytes.length > MAX_BYTES) return `it has ${bytes.length} bytes, at most ${MAX_BYTES} are decoded`
  const content = FORMATS.find(({ startsLike }) => startsLike(bytes.subarray(0, 16)))?.type
  if (content === undefined) return 'it is not a PNG, JPEG, GIF or WebP image'
  const type = declared.toLowerCase()
  return (OTHER_NAMES[type] ?? type) === content ? undefined : `it is declared as ${declared} and is ${content}`
}
