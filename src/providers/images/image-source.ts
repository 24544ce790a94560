import type { ImagePart } from '../../core/image-part.ts'

export type ImageData = { mediaType: string; data: string }

/** The bytes of an inline image or a data URL; undefined for an image that is stored elsewhere. */
export function imageData(image: ImagePart): ImageData | undefined {
  if ('data' in image.source) return image.source
  const match = DATA_URL.exec(image.source.url)
  return match ? { mediaType: match[1]!.toLowerCase(), data: image.source.url.slice(match[0].length) } : undefined
}

const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64,/i

/** The URL of an image that is not inline. */
export const imageUrl = (image: ImagePart): string | undefined =>
  'url' in image.source && !imageData(image) ? image.source.url : undefined

/** The text that replaces an image that is not sent. */
export const imageNote = (reason: string): string => `[An image was left out here: ${reason}]`
