import { defined } from '../../core/defined.ts'
import { authorText, listVersions, requireVersion, type ShownVersion } from '../../service/memory/block-versions.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { printResult } from '../print-result.ts'
import { ageText } from '../render/run.ts'
import { printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { safeName, safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'
import { type AgentFlag, requireNamedBlock } from './memory.ts'

type Options = { flags: AgentFlag; cli: CliContext }

const VERSIONS = { from: 1, to: 2_147_483_647 }

export const history = (which: string, version: string | undefined, { flags, cli }: Options): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const { id } = await requireNamedBlock(which, flags.agent, context)
    if (version !== undefined) {
      const found = await requireVersion({ id, version: wholeNumber('The version', version, VERSIONS) }, context)
      if (flags.json) return printJson(out, Object.assign(versionJson(found), { value: found.value }))
      return out.line(safeText(found.value))
    }
    const versions = await listVersions(id, context)
    if (flags.json) return printJson(out, versions.map(versionJson))
    const now = context.deps.clock.now()
    printTable(
      versions,
      [
        { title: 'VERSION', text: (one) => `${one.version}${one.isPresent ? ' (present)' : ''}` },
        { title: 'WRITTEN', text: ({ writtenAt }) => `${ageText(Math.max(0, now - writtenAt))} ago` },
        { title: 'SIZE', text: ({ characters }) => `${characters}`, align: 'right' },
        { title: 'BY', text: (one) => authorText(one), shrinksTo: 12 },
      ],
      out,
    )
  })

const versionJson = ({ version, isPresent, characters, writtenAt, author, keyName }: ShownVersion) => ({
  version,
  is_present: isPresent,
  characters,
  written_at: timeJson(writtenAt),
  written_by: author ? authorText({ author, ...defined({ keyName }) }) : null,
})

export const restore = (which: string, version: string, { flags, cli }: Options): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const block = await requireNamedBlock(which, flags.agent, context)
    const number = wholeNumber('The version', version, VERSIONS)
    const { value } = await api.request<{ value: string }>('POST', `/v1/blocks/${block.id}/versions/${number}/restore`)
    printResult(cli, flags, {
      sentence: `${safeName(block.label)} (${block.id}) has the value of version ${number} again: ${value.length} characters.`,
      value: { id: block.id, label: block.label, version: number, value },
    })
  })
