import type { ImagePart } from '../../core/image-part.ts'
import { Problem } from '../../core/problem.ts'

const DATA_URL = /^data:(image\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=\s]+)$/i

/** The image of a data URL, or at a web address. `field` names it in the refusal. */
export function imageFrom(url: string, field: string): ImagePart {
  const data = DATA_URL.exec(url)
  if (data)
    return { type: 'image', source: { mediaType: data[1]!.toLowerCase(), data: data[2]!.replaceAll(/\s/g, '') } }
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return { type: 'image', source: { url } }
  throw new Problem(
    'invalid',
    `body.${field}: must be an https address or a data URL with a base64 image, not "${url.slice(0, 40)}"`,
  )
}
