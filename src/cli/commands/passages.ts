import { text as readAll } from 'node:stream/consumers'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { listPassages } from '../../service/memory/passages.ts'
import { completedId } from '../../service/short-id.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { ageText } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import type { Screen } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

type ListFlags = JsonFlag & { agent: string; limit: string }

type ShownPassage = { id: string; text: string; tags: string[]; created_at: string | null }

export const listAll = ({ agent, limit, json }: ListFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const page = { limit: wholeNumber('--limit', limit, { from: 1, to: 1000 }), order: 'desc' } as const
    const passages = await listPassages(await requireAgent(agent, context), page, context)
    const shown = passages.map(({ id, text, tags, createdAt }) => ({ id, text, tags, created_at: timeJson(createdAt) }))
    printPassages(shown, { json, now: context.deps.clock.now(), out: cli.out })
  })

export const search = (query: string, flags: ListFlags & { tag?: string[] }, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(flags.agent, context)
    const top = wholeNumber('--limit', flags.limit, { from: 1, to: 100 })
    const wanted = new URLSearchParams({ query, top_k: String(top) })
    for (const tag of flags.tag ?? []) wanted.append('tags', tag)
    type Found = { results: { id: string; content: string; timestamp: string; tags: string[] }[]; notice?: string }
    const { results, notice } = await api.request<Found>(
      'GET',
      `/v1/agents/${agent.id}/archival-memory/search?${wanted}`,
    )
    const shown = results.map(({ id, content, timestamp, tags }) => ({
      id,
      text: content,
      tags,
      created_at: timestamp,
    }))
    printPassages(shown, { json: flags.json, now: context.deps.clock.now(), out: cli.out })
    if (notice) cli.notes.line(notice)
  })

type PrintOptions = { json: boolean | undefined; now: number; out: Screen }

function printPassages(passages: ShownPassage[], { json, now, out }: PrintOptions): void {
  if (json) printJson(out, passages)
  else if (passages.length === 0) out.line('No passages.')
  else
    printTable(
      passages,
      [
        { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
        { title: 'AGE', text: ({ created_at }) => (created_at ? ageText(now - Date.parse(created_at)) : '') },
        { title: 'TEXT', text: ({ text }) => text, shrinksTo: 16, longest: 100 },
        { title: 'TAGS', text: ({ tags }) => tags.join(', '), shrinksTo: 6 },
      ],
      out,
    )
}

export const add = (
  text: string,
  flags: JsonFlag & { agent: string; tag?: string[] },
  cli: CliContext,
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(flags.agent, context)
    const body = { text: text === '-' ? await readAll(process.stdin) : text, ...defined({ tags: flags.tag }) }
    const [added] = await api.request<ShownPassage[]>('POST', `/v1/agents/${agent.id}/archival-memory`, body)
    const { id, tags, created_at } = added!
    printResult(cli, flags, { sentence: `Added ${id}.`, value: { id, text: added!.text, tags, created_at } })
  })

export const remove = (
  which: string,
  flags: JsonFlag & { agent: string; yes?: boolean },
  cli: CliContext,
): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(flags.agent, context)
    const id = await completedId('passage', which, context)
    if (!id) throw new Problem('not-found', `Agent ${agent.name} has no passage "${which}".`)
    const consequence = 'Its text cannot be recovered.'
    if (!(await confirmRemoval({ verb: 'Delete', what: id, consequence }, flags, cli))) return 1
    await api.request('DELETE', `/v1/agents/${agent.id}/archival-memory/${id}`)
    printResult(cli, flags, { sentence: `Deleted ${id}.`, value: { id, deleted: true } })
    return 0
  })
