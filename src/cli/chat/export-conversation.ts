import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Message, textOf } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { listMessages } from '../../service/messages/messages.ts'
import { decisionText } from '../render/message.ts'
import { count } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { safeText } from '../terminal.ts'
import type { ChatSession } from './chat-session.ts'
import { titleOf } from './listed-conversations.ts'

const PAGE = 500

/** Writes the whole conversation as Markdown, for its owner alone. A file that exists is never replaced. */
export async function exportConversation(file: string, chat: ChatSession): Promise<undefined> {
  const { agent, conversation, context, screen } = chat
  const path = resolve(file || `${shortId(conversation.id)}.md`)
  const handle = createFile(path)
  let messages = 0
  try {
    writeSync(handle, `# ${await titleOf(conversation, context)}\n\n${agent.name} · ${conversation.id}\n`)
    for (let after = -1; ; ) {
      const page = await listMessages(conversation.id, { limit: PAGE, after, take: 'oldest' }, context)
      for (const message of page) writeSync(handle, messageMarkdown(message))
      messages += page.length
      if (page.length < PAGE) break
      after = page.at(-1)!.position
    }
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  screen.line(`  Wrote ${count(messages, 'message')} to ${safeText(path)}.`)
  return undefined
}

function createFile(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new Problem('invalid', `${path} exists already. Name another file: /export other.md`)
    throw new Problem('invalid', `${path} cannot be written (${code}). Name another file: /export /tmp/chat.md`)
  }
}

function messageMarkdown({ body, createdAt }: Message): string {
  const at = new Date(createdAt).toISOString()
  switch (body.role) {
    case 'user':
    case 'system':
      return `\n## ${body.role === 'user' ? 'You' : 'System'} · ${at}\n\n${textOf(body.content) || '(an image)'}\n`
    case 'assistant': {
      const calls = body.calls.map(
        ({ tool, input }) => `\n**${tool}**\n\n${fenced(JSON.stringify(input, null, 2), 'json')}`,
      )
      const text = textOf(body.content).trimEnd()
      return `\n## Agent · ${at}\n${text ? `\n${text}\n` : ''}${body.cut ? '\n(cut off by a cancel)\n' : ''}${calls.join('')}`
    }
    case 'tool':
      return body.outcomes.map(({ status, output }) => `\nResult (${status}):\n\n${fenced(output, '')}`).join('')
    case 'approval':
      return body.decisions.map((decision) => `\nApproval: ${decisionText(decision)}\n`).join('')
    case 'summary':
      return `\n## Summary of earlier messages · ${at}\n\n${body.text}\n`
  }
}

/** A fence that is longer than any in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([marks]) => marks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.trimEnd()}\n${fence}\n`
}
