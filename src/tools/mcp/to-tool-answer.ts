import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { defined } from '../../core/defined.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { ToolAnswer } from '../../ports/tool.ts'

type Content = CallToolResult['content'][number]

/** The result as shown to the model: texts and images as they are, a placeholder for other content. */
export function toToolAnswer({ content, structuredContent, isError }: CallToolResult): ToolAnswer {
  const images = content.flatMap(imageIn)
  const texts = content.flatMap(textIn)
  const output = texts.length > 0 || !structuredContent ? texts.join('\n') : JSON.stringify(structuredContent)
  return {
    status: isError ? 'error' : 'success',
    output,
    ...defined({ images: images.length > 0 ? images : undefined }),
  }
}

/** In characters of base64. Images are stored with the conversation and sent with every model request. */
const MAX_IMAGE_CHARACTERS = 8 * 1024 * 1024
/** Image types that models accept. */
const SUPPORTED_IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

const isShown = ({ mimeType, data }: { mimeType: string; data: string }): boolean =>
  SUPPORTED_IMAGE_TYPES.has(mimeType) && data.length <= MAX_IMAGE_CHARACTERS

const imageIn = (part: Content): ImagePart[] =>
  part.type === 'image' && isShown(part)
    ? [{ type: 'image', source: { mediaType: part.mimeType, data: part.data } }]
    : []

function textIn(part: Content): string[] {
  switch (part.type) {
    case 'text':
      return [part.text]
    case 'image':
      return isShown(part) ? [] : [`[image, ${part.mimeType}, ${part.data.length} characters, not shown]`]
    case 'audio':
      return [`[audio, ${part.mimeType}, not shown]`]
    case 'resource':
      return 'text' in part.resource
        ? [part.resource.text]
        : [`[${part.resource.uri}, ${part.resource.mimeType ?? 'binary'}, not shown]`]
    case 'resource_link':
      return [`[${part.title ?? part.name}: ${part.uri}]`]
  }
}
