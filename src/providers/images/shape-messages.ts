import type { Part } from '../../core/answer.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { type Shrunk, shrinkImages } from './shrink-images.ts'
import { stripImages } from './strip-images.ts'

/** The strictest vendor takes 5 MB of base64. */
const MAX_BYTES = 3_750_000

type ShapedRequest = Pick<ModelRequest, 'messages' | 'shape'>

/** The messages as the shape of the request wants their images; what is stored stays as it is. */
export async function shapeMessages({ messages, shape }: ShapedRequest): Promise<Shrunk> {
  if (shape?.stripImages) return { type: 'shrunk', messages: await stripImages(messages) }
  if (shape?.shrinkImages) return shrinkImages(messages, { ...shape.shrinkImages, maxBytes: MAX_BYTES })
  return { type: 'shrunk', messages }
}

/** The stream of the shaped request. A request whose images stay is passed on at once. */
export function withShapedImages(
  request: ModelRequest,
  stream: (request: ModelRequest) => AsyncIterable<Part>,
): AsyncIterable<Part> {
  return request.shape?.stripImages || request.shape?.shrinkImages ? afterShaping(request, stream) : stream(request)
}

async function* afterShaping(
  request: ModelRequest,
  stream: (request: ModelRequest) => AsyncIterable<Part>,
): AsyncGenerator<Part, void, void> {
  const shaped = await shapeMessages(request)
  if (shaped.type === 'failure') yield { type: 'failure', failure: shaped.failure }
  else yield* stream({ ...request, messages: shaped.messages })
}
