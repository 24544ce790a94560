import type { Sharp, SharpOptions } from 'sharp'
import { errorText } from '../../core/error-text.ts'
import type { Failure } from '../../core/failure.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { InputPart, MessageBody } from '../../core/message.ts'
import { newMutex } from '../../core/mutex.ts'
import { contentFault } from './image-content.ts'
import { type ImageData, imageData, imageNote } from './image-source.ts'
import { type ImageChange, mapImages } from './map-images.ts'

type ImageLimits = {
  /** Pixels of the longer side. */
  maxSide: number
  /** Size of the image file, before base64. */
  maxBytes?: number
}

export type AdjustedImages =
  | { type: 'shrunk'; messages: readonly MessageBody[] }
  | { type: 'failure'; failure: Failure }

type OpenImage = (input: Buffer, options: SharpOptions) => Sharp

/**
 * Shrinks inline images that exceed a limit; the aspect ratio is kept and the metadata is removed. Everything else
 * stays the same object, and the same message gives the same result object each time, so that caches keyed by message
 * still hit.
 */
export async function shrinkImages(
  messages: readonly MessageBody[],
  limits: ImageLimits,
  loadSharp: () => Promise<OpenImage> = importSharp,
): Promise<AdjustedImages> {
  let open: OpenImage | undefined
  const change: ImageChange = async (image) => {
    const data = imageData(image)
    if (!data) return image
    open ??= await loadSharp()
    return shrinkCached(image, data, { limits, open })
  }
  try {
    return { type: 'shrunk', messages: await mapImages(messages, change) }
  } catch (error) {
    if (open) throw error
    return { type: 'failure', failure: { kind: 'image-too-large', detail: whySharpIsMissing(error) } }
  }
}

/** sharp is an optional peer dependency: it is native, and only images that a vendor rejects as too large need it. */
function whySharpIsMissing(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
    return 'images cannot be resized: the optional package sharp is not installed. Install it beside Holdfast with `npm install sharp`.'
  return `images cannot be resized: the package sharp does not load: ${errorText(error).split('\n')[0]}`
}

const importSharp = async (): Promise<OpenImage> => (await import('sharp')).default

type ShrinkContext = { limits: ImageLimits; open: OpenImage }

/** An image is encoded once for the same limits, not once per request. */
const shrinkCache = new WeakMap<ImagePart, { key: string; result: Promise<InputPart> }>()

/** Of all turns: decoded images are large. */
const oneAtATime = newMutex()

function shrinkCached(image: ImagePart, data: ImageData, context: ShrinkContext): Promise<InputPart> {
  const key = `${context.limits.maxSide}/${context.limits.maxBytes}`
  const cached = shrinkCache.get(image)
  if (cached?.key === key) return cached.result
  const result = oneAtATime(() => shrinkImage(image, data, context))
  shrinkCache.set(image, { key, result })
  return result
}

async function shrinkImage(
  image: ImagePart,
  { data, mediaType }: ImageData,
  { limits, open }: ShrinkContext,
): Promise<InputPart> {
  const bytes = Buffer.from(data, 'base64')
  const fault = contentFault(bytes, mediaType)
  if (fault) return { type: 'text', text: imageNote(`it cannot be read (${fault}).`) }
  try {
    const { width, height } = await open(bytes, READ_OPTIONS).metadata()
    const side = Math.max(width ?? 0, height ?? 0)
    if (side <= limits.maxSide && bytes.length <= (limits.maxBytes ?? Number.POSITIVE_INFINITY)) return image
    const smaller = await encodeToFit(bytes, Math.min(side, limits.maxSide), { limits, open })
    return { type: 'image', source: { mediaType: smaller.mediaType, data: smaller.bytes.toString('base64') } }
  } catch (error) {
    const reason = errorText(error).split('\n')[0]
    return { type: 'text', text: imageNote(`it cannot be read (${reason}).`) }
  }
}

/** Protects memory: sharp rejects an image with more pixels. 50 megapixels are 200 MB when decoded. */
const READ_OPTIONS: SharpOptions = { limitInputPixels: 50_000_000, failOn: 'error', sequentialRead: true }
const MAX_SECONDS = 10

type EncodedImage = { bytes: Buffer; mediaType: string }

const MAX_ATTEMPTS = 8
const SHRINK_FACTOR = 0.75

/** Tries the original format first, then JPEG or WebP at full size, then smaller sides until the bytes fit. */
async function encodeToFit(bytes: Buffer, firstSide: number, { limits, open }: ShrinkContext): Promise<EncodedImage> {
  const { format, hasAlpha } = await open(bytes, READ_OPTIONS).metadata()
  let side = firstSide
  let best = await encode(resized(bytes, side, open), format === 'jpeg' ? 'jpeg' : format === 'webp' ? 'webp' : 'png')
  for (
    let attempt = 0;
    attempt < MAX_ATTEMPTS && best.bytes.length > (limits.maxBytes ?? best.bytes.length);
    attempt++
  ) {
    best = await encode(resized(bytes, side, open), hasAlpha ? 'webp' : 'jpeg')
    side = Math.max(1, Math.floor(side * SHRINK_FACTOR))
  }
  return best
}

/** Applies the rotation of the metadata before the metadata is removed. */
const resized = (bytes: Buffer, side: number, open: OpenImage): Sharp =>
  open(bytes, READ_OPTIONS)
    .timeout({ seconds: MAX_SECONDS })
    .autoOrient()
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })

const QUALITY = 80

async function encode(image: Sharp, format: 'jpeg' | 'png' | 'webp'): Promise<EncodedImage> {
  const options = format === 'png' ? { compressionLevel: 9 } : { quality: QUALITY }
  return { bytes: await image.toFormat(format, options).toBuffer(), mediaType: `image/${format}` }
}
