import { DatabaseSync } from 'node:sqlite'
import { defined } from '../src/core/defined.ts'
import { readAnswer, sinceInput } from './read-answer.ts'
import { QUESTION, type WireCall, type WireMessage, weatherIn } from './wire.ts'

export type BareLoop = {
  /** One user message to its final answer. */
  runTurn(conversation: string): Promise<void>
  /** Finishes the turns of a killed process; returns their conversations. */
  resume(): Promise<string[]>
  insert(conversation: string, messages: readonly WireMessage[]): void
  count(conversation: string): number
  close(): void
}

export type BareOptions = {
  path: string
  source: string
  synchronous: 'NORMAL' | 'FULL'
  /** Whether requests contain the whole history or only the current turn. */
  request: 'whole-history' | 'current-turn'
  onTool?(): void
}

/**
 * The loop that an engineer writes in an hour: it commits each message and nothing else. No events, no leases, no
 * stream that can be read again.
 */
export function openBareLoop({ path, source, synchronous, request, onTool }: BareOptions): BareLoop {
  const database = new DatabaseSync(path)
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = ${synchronous};
    create table if not exists messages (id integer primary key, conversation text not null, body text not null);
    create index if not exists messages_conversation on messages (conversation);
  `)
  const insert = database.prepare('insert into messages (conversation, body) values (?, ?)')
  const select = database.prepare('select body from messages where conversation = ? order by id')
  const counted = database.prepare('select count(*) as count from messages where conversation = ?')
  const latest = database.prepare(
    'select conversation, body from messages where id in (select max(id) from messages group by conversation)',
  )

  const load = (conversation: string): WireMessage[] =>
    select.all(conversation).map((row) => JSON.parse(row.body as string) as WireMessage)

  const save = (conversation: string, message: WireMessage) => insert.run(conversation, JSON.stringify(message))

  async function finishTurn(conversation: string, history: WireMessage[]): Promise<void> {
    const commit = (message: WireMessage) => {
      save(conversation, message)
      history.push(message)
    }
    for (;;) {
      const last = history.at(-1)!
      if (last.role === 'assistant') {
        if (!last.tool_calls) return
        for (const call of last.tool_calls) commit(runTool(call))
      }
      commit(await askModel(request === 'whole-history' ? history : sinceInput(history)))
    }
  }

  async function askModel(messages: readonly WireMessage[]): Promise<WireMessage> {
    let content = ''
    const calls: WireCall[] = []
    let finish: string | null = null
    for await (const chunks of readAnswer(source, messages)) {
      for (const chunk of chunks) {
        const choice = chunk.choices[0]!
        if (choice.delta.content) content += choice.delta.content
        for (const { index, ...call } of choice.delta.tool_calls ?? []) {
          const known = calls[index]
          if (known) known.function.arguments += call.function.arguments
          else calls[index] = call
        }
        finish ??= choice.finish_reason
      }
    }
    if (!finish) throw new Error('the stream ended without a finish reason')
    return { role: 'assistant', content, ...defined({ tool_calls: calls.length > 0 ? calls : undefined }) }
  }

  function runTool(call: WireCall): WireMessage {
    onTool?.()
    const { city } = JSON.parse(call.function.arguments) as { city: string }
    return { role: 'tool', tool_call_id: call.id, content: weatherIn(city) }
  }

  return {
    async runTurn(conversation) {
      const history = load(conversation)
      const message: WireMessage = { role: 'user', content: QUESTION }
      save(conversation, message)
      history.push(message)
      await finishTurn(conversation, history)
    },
    async resume() {
      const unfinished = latest.all().filter((row) => {
        const last = JSON.parse(row.body as string) as WireMessage
        return last.role !== 'assistant' || last.tool_calls !== undefined
      })
      const conversations = unfinished.map((row) => row.conversation as string)
      await Promise.all(conversations.map((conversation) => finishTurn(conversation, load(conversation))))
      return conversations
    },
    insert(conversation, messages) {
      database.exec('begin')
      for (const message of messages) save(conversation, message)
      database.exec('commit')
    },
    count: (conversation) => counted.get(conversation)!.count as number,
    close: () => database.close(),
  }
}
