import type { ImagePart } from '../../core/image-part.ts'

export type ImageData = { mediaType: string; data: string }

/** The bytes of an image that carries them, also as a data URL; none for an image that lies elsewhere. */
export function imageData(image: ImagePart): ImageData | undefined {
  if ('data' in image.source) return image.source
  const match = DATA_URL.exec(image.source.url)
  return match ? { mediaType: match[1]!.toLowerCase(), data: image.source.url.slice(match[0].length) } : undefined
}

const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64,/i

/** Where the image lies, if that is not inside the message. */
export const imageUrl = (image: ImagePart): string | undefined =>
  'url' in image.source && !imageData(image) ? image.source.url : undefined

/** What stands in the place of an image that is not sent. */
export const imageNote = (reason: string): string => `[An image was left out here: ${reason}]`
