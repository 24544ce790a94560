import type { PlantedBug } from './plant.ts'

/** Bugs in OpenAI's API. */
export const OPENAI_BUGS: PlantedBug[] = [
  {
    name: 'a retry gets a conversation of its own and runs a second turn',
    file: 'storage/openai/openai.ts',
    find: '  if (isRetry && row.placed_at > at - windowMs) return row.conversation_id\n',
    replace: '',
    breaks: 'nothing happens twice: copies of a request have one run',
  },
  {
    name: 'a chat branches at the copy of its own request',
    file: 'service/openai/accept-request.ts',
    find: '(await hasCopy(conversation, copies, context))',
    replace: '(await Promise.resolve(copies.at < 0 && hasCopy !== undefined))',
    breaks: 'nothing happens twice: copies of a request have one run',
  },
  {
    name: 'a request that its own retry overtook runs a second turn',
    file: 'service/openai/accept-request.ts',
    find: 'arrivedAt: copies.at',
    replace: 'arrivedAt: Number.MAX_SAFE_INTEGER',
    breaks: 'nothing happens twice: copies of a request have one run',
  },
]
