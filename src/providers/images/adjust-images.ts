import type { Part } from '../../core/answer.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { type AdjustedImages, shrinkImages } from './shrink-images.ts'
import { stripImages } from './strip-images.ts'

/** The strictest vendor accepts 5 MB of base64. */
const MAX_BYTES = 3_750_000

type ImageAdjustmentRequest = Pick<ModelRequest, 'messages' | 'adjustments'>

/** Applies the image adjustments of the request to a copy of its messages; stored messages do not change. */
export async function adjustImages({ messages, adjustments }: ImageAdjustmentRequest): Promise<AdjustedImages> {
  if (adjustments?.stripImages) return { type: 'shrunk', messages: await stripImages(messages) }
  if (adjustments?.shrinkImages) return shrinkImages(messages, { ...adjustments.shrinkImages, maxBytes: MAX_BYTES })
  return { type: 'shrunk', messages }
}

/** Streams the adjusted request. A request without image adjustments is passed on directly. */
export function withAdjustedImages(
  request: ModelRequest,
  stream: (request: ModelRequest) => AsyncIterable<Part>,
): AsyncIterable<Part> {
  return request.adjustments?.stripImages || request.adjustments?.shrinkImages
    ? streamAdjusted(request, stream)
    : stream(request)
}

async function* streamAdjusted(
  request: ModelRequest,
  stream: (request: ModelRequest) => AsyncIterable<Part>,
): AsyncGenerator<Part, void, void> {
  const adjusted = await adjustImages(request)
  if (adjusted.type === 'failure') yield { type: 'failure', failure: adjusted.failure }
  else yield* stream({ ...request, messages: adjusted.messages })
}
