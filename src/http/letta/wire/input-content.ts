import type { InputPart } from '../../../core/message.ts'

/** Texts and images as a client sends them. */
export const wireContent = (content: readonly InputPart[]) =>
  content.map((part) =>
    part.type === 'text'
      ? part
      : {
          type: 'image' as const,
          source:
            'url' in part.source
              ? { type: 'url' as const, url: part.source.url }
              : { type: 'base64' as const, media_type: part.source.mediaType, data: part.source.data },
        },
  )
