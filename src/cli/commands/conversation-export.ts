import { resolve } from 'node:path'
import type { Agent, Conversation } from '../../core/agent.ts'
import { type Message, textOf } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { allMessages } from '../../service/conversations/conversation-overview.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { writeNewFile } from '../new-file.ts'
import { requireConversationNamed } from '../pick-conversation.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { decisionText } from '../render/message.ts'
import { messageJson, timeJson } from '../run-json.ts'

type ExportFlags = JsonFlag & { format?: string; file?: string; force?: boolean }

const FORMATS = ['markdown', 'json'] as const
type Format = (typeof FORMATS)[number]

/** Prints the whole conversation, or writes it to a file. */
export const exportOne = (which: string, flags: ExportFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { agent, conversation } = await requireConversationNamed(which, context)
    const format = formatOf(flags)
    const messages: Message[] = []
    for await (const message of allMessages(conversation, context)) messages.push(message)
    const exported = { agent, conversation, messages }
    const text = format === 'json' ? `${JSON.stringify(documentOf(exported), null, 2)}\n` : markdownOf(exported)
    const { file } = flags
    if (file === undefined || file === '-') {
      if (flags.json && format === 'markdown') return printJson(cli.out, { id: conversation.id, markdown: text })
      return cli.out.write(text)
    }
    writeNewFile(file, text, flags)
    printResult(cli, flags, {
      sentence: `Exported ${messages.length} messages of ${conversation.id} to ${file}.`,
      value: { id: conversation.id, messages: messages.length, format, file: resolve(file) },
    })
  })

/** The end of the file name decides unless --format does. */
function formatOf({ format, file, json }: ExportFlags): Format {
  if (format === undefined) return file?.endsWith('.json') || (json && file === undefined) ? 'json' : 'markdown'
  const known = FORMATS.find((one) => one === format)
  if (known) return known
  throw new Problem('invalid', `--format must be markdown or json, not "${format}".`)
}

type Exported = { agent: Agent; conversation: Conversation; messages: readonly Message[] }

const documentOf = ({ agent, conversation, messages }: Exported) => ({
  id: conversation.id,
  agent_id: agent.id,
  agent_name: agent.name,
  title: conversation.details?.summary ?? null,
  created_at: timeJson(conversation.createdAt),
  messages: messages.map(messageJson),
})

function markdownOf({ agent, conversation, messages }: Exported): string {
  const title = conversation.details?.summary ?? `Conversation with ${agent.name}`
  const head = [`# ${title}`, '', `${agent.name}, ${agent.model}, ${conversation.id}`]
  return `${[...head, ...messages.flatMap((message) => messageLines(message, agent))].join('\n')}\n`
}

function messageLines({ body, createdAt }: Message, agent: Agent): string[] {
  const heading = (who: string) => ['', `## ${who} · ${timeJson(createdAt)}`, '']
  switch (body.role) {
    case 'user':
      return [...heading('User'), textOf(body.content) || '(an image)']
    case 'system':
      return [...heading('System'), textOf(body.content)]
    case 'assistant': {
      const text = textOf(body.content)
      const calls = body.calls.flatMap(({ tool, input }) => [
        '',
        `Calls \`${tool}\`:`,
        '',
        ...fenced(JSON.stringify(input, null, 2)),
      ])
      return [...heading(agent.name), ...(text ? [text] : []), ...calls]
    }
    case 'tool':
      return body.outcomes.flatMap(({ status, output }) => ['', `Result (${status}):`, '', ...fenced(output)])
    case 'approval':
      return ['', ...body.decisions.map((decision) => `Approval: ${decisionText(decision)}`)]
    case 'summary':
      return [...heading('Summary of earlier messages'), body.text]
  }
}

/** A fence longer than any in the text. */
function fenced(text: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return [fence, text.trimEnd(), fence]
}
