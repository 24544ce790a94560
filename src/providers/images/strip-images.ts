import type { MessageBody, TextPart } from '../../core/message.ts'
import { imageNote } from './image-source.ts'
import { mapImages } from './map-images.ts'

const STRIPPED: TextPart = { type: 'text', text: imageNote('the model did not take it.') }

/** Replaces every image with a text. */
export const stripImages = (messages: readonly MessageBody[]): Promise<MessageBody[]> =>
  mapImages(messages, () => STRIPPED)
