import type { ModelNote } from '../../core/model-note.ts'
import { handleOf } from '../../core/target.ts'
import { forgetModelNotes, listModelNotes } from '../../service/providers/model-notes.ts'
import { readRunLabels } from '../../service/runs/run-labels.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { commandLine } from '../program-name.ts'
import { untilText } from '../render/credential.ts'
import { NOTE_TEXT } from '../render/model-note.ts'
import { timeJson } from '../run-json.ts'
import { safeText } from '../terminal.ts'

export const notes = ({ json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const all = await listModelNotes(context)
    if (json) return printJson(out, all.map(noteJson))
    if (all.length === 0) return out.line('Nothing is remembered of any model.')
    const now = context.deps.clock.now()
    const words = await readRunLabels(context)
    const { bold, dim } = out.look.paint
    for (const note of all) {
      const who = note.credentialId === undefined ? '' : `, with ${safeText(words.credential(note.credentialId))}`
      out.line(`${bold(safeText(handleOf(note)))}  ${noteText(note)}${who}`)
      out.line(
        `  ${dim(`since ${new Date(note.notedAt).toISOString()} (${note.runId}), ${untilText(note.expiresAt, now)}`)}`,
      )
    }
    out.line()
    out.line(dim(`To try a model without its notes before they end: ${commandLine('models forget PROVIDER/MODEL')}`))
  })

export const forget = (handle: string, { json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { forgotten } = await forgetModelNotes(handle, context)
    if (json) return printJson(cli.out, { model: handle, forgotten })
    cli.out.line(
      forgotten === 0
        ? `Nothing was remembered of ${safeText(handle)}.`
        : `Forgotten: ${forgotten} ${forgotten === 1 ? 'note' : 'notes'} on ${safeText(handle)}. Its next request is sent without them.`,
    )
  })

const noteText = ({ kind, value }: ModelNote): string =>
  value === true ? NOTE_TEXT[kind] : `${NOTE_TEXT[kind]} of ${value.toLocaleString('en-US')} tokens`

const noteJson = (note: ModelNote) => ({
  model: handleOf(note),
  kind: note.kind,
  value: note.value,
  credential_id: note.credentialId ?? null,
  noted_at: timeJson(note.notedAt),
  expires_at: timeJson(note.expiresAt),
  run_id: note.runId,
})
