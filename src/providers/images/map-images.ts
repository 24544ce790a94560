import { defined } from '../../core/defined.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { InputPart, MessageBody, TextPart } from '../../core/message.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'

export type ImageChange = (image: ImagePart) => InputPart | Promise<InputPart>

/** Applies the change to every image. An unchanged message stays the same object. */
export const mapImages = (messages: readonly MessageBody[], change: ImageChange): Promise<MessageBody[]> =>
  mapSequentially(messages, (body) => mapMessage(body, change))

async function mapMessage(body: MessageBody, change: ImageChange): Promise<MessageBody> {
  switch (body.role) {
    case 'user':
    case 'system': {
      if (!body.content.some((part) => part.type === 'image')) return body
      const content = await mapSequentially(body.content, (part) => (part.type === 'image' ? change(part) : part))
      return isSame(content, body.content) ? body : cachedChange(body, content, () => ({ ...body, content }))
    }
    case 'tool': {
      if (!body.outcomes.some((outcome) => outcome.images?.length)) return body
      const mapped = await mapSequentially(body.outcomes, (outcome) => mapSequentially(outcome.images ?? [], change))
      const isUnchanged = body.outcomes.every((outcome, index) => isSame(mapped[index]!, outcome.images ?? []))
      if (isUnchanged) return body
      const outcomes = body.outcomes.map((outcome, index) => withImages(outcome, mapped[index]!))
      return cachedChange(body, mapped.flat(), () => ({ ...body, outcomes }))
    }
    case 'assistant':
    case 'approval':
    case 'summary':
      return body
  }
}

/** Images that were replaced by text are appended to the output. */
function withImages({ images = [], ...outcome }: ToolOutcome, parts: readonly InputPart[]): ToolOutcome {
  if (isSame(parts, images)) return images.length > 0 ? { ...outcome, images } : outcome
  const notes = parts.filter((part): part is TextPart => part.type === 'text').map((part) => part.text)
  const kept = parts.filter((part): part is ImagePart => part.type === 'image')
  const output = [outcome.output, ...notes].filter((text) => text !== '').join('\n')
  return { ...outcome, output, ...defined({ images: kept.length > 0 ? kept : undefined }) }
}

/** Cache of the last changed form of each message, valid while its parts are the same objects. */
const changedMessages = new WeakMap<MessageBody, { parts: readonly InputPart[]; body: MessageBody }>()

function cachedChange(from: MessageBody, parts: readonly InputPart[], make: () => MessageBody): MessageBody {
  const cached = changedMessages.get(from)
  if (cached && isSame(cached.parts, parts)) return cached.body
  const body = make()
  changedMessages.set(from, { parts, body })
  return body
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((part, index) => part === other[index])

/** One at a time, because decoded images are large. */
async function mapSequentially<From, To>(
  items: readonly From[],
  change: (item: From) => To | Promise<To>,
): Promise<To[]> {
  const results: To[] = []
  for (const item of items) {
    const result = change(item)
    results.push(result instanceof Promise ? await result : result)
  }
  return results
}
