import { defined } from '../../core/defined.ts'
import type { ModelNote } from '../../core/model-note.ts'
import type { Price } from '../../core/price.ts'
import type { NoteKind } from '../../core/target.ts'
import { type KnownModel, listModels, type ProviderModels } from '../../service/providers/models.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { commandLine, runnable } from '../program-name.ts'
import { NOTE_TEXT } from '../render/model-note.ts'
import { stoppable } from '../stoppable.ts'
import { type Look, safeText, shortened } from '../terminal.ts'

type ModelsOptions = { provider?: string; json?: boolean }

/** Aggregators list hundreds of models; --provider prints all of them. */
const MAX_SHOWN = 20

export const models = ({ provider, json }: ModelsOptions, cli: CliContext): Promise<number> =>
  stoppable((signal) =>
    withApp(cli, 'guest', async ({ context }) => {
      const { out } = cli
      const all = await listModels({ signal, ...defined({ provider }) }, context)
      if (json) printJson(out, all.map(providerJson))
      else {
        const most = provider === undefined ? MAX_SHOWN : Number.POSITIVE_INFINITY
        for (const one of all) for (const line of providerLines(one, most, out.look)) out.line(line)
        out.line()
        out.line(out.look.paint.dim(LEGEND))
      }
      return 0
    }),
  )

const LEGEND =
  'Context windows and outputs are in tokens, prices in US dollars per million tokens. The source of a figure is in ' +
  "parentheses: the built-in table with its date, config.yaml, the provider's list (stated) or an error (learned; `holdfast models notes` has the ages)."

function providerLines(
  { provider, failure, advice, models: known }: ProviderModels,
  most: number,
  look: Look,
): string[] {
  const { bold, dim, red } = look.paint
  const shown = known.slice(0, most)
  const width = Math.min(48, Math.max(0, ...shown.map(({ handle }) => handle.length)))
  const typed = failure?.status ? ` (HTTP ${failure.status})` : ''
  const rest = known.length - shown.length
  return [
    bold(provider),
    ...(failure
      ? [`  ${red(`its models could not be listed: ${failure.kind}${typed}`)}: ${safeText(failure.detail)}`]
      : []),
    ...(advice ? [`  ${dim(runnable(advice))}`] : []),
    ...shown.map((model) => `  ${modelLine(model, width, { look, hasList: failure === undefined })}`),
    ...(rest > 0 ? [dim(`  … and ${rest} more: ${commandLine(`models --provider ${provider}`)}`)] : []),
    ...(known.length === 0 && !failure ? [dim('  it lists no models')] : []),
  ]
}

function modelLine(model: KnownModel, width: number, { look, hasList }: { look: Look; hasList: boolean }): string {
  const { handle, window, maxOutput, price, usedBy, isListed, notes } = model
  const { dim, yellow } = look.paint
  const parts = [
    window ? `window ${grouped(window.tokens)} ${dim(`(${window.from})`)}` : dim('window unknown'),
    maxOutput === undefined ? dim('output unknown') : `output ${grouped(maxOutput)}`,
    price ? priceText(price, dim) : dim('price unknown'),
    ...learnedKinds(notes).map((kind) => dim(`${NOTE_TEXT[kind]} (learned)`)),
    ...(usedBy.length > 0 ? [`used by ${usedBy.map(safeText).join(', ')}`] : []),
    ...(hasList && !isListed ? [yellow('not listed by the provider')] : []),
  ]
  return `${safeText(shortened(handle, 80)).padEnd(width)}  ${parts.join('  ')}`
}

function priceText({ input, output, cachedInput, upTo, asOf }: Price, dim: Look['paint']['dim']): string {
  const cached = cachedInput === undefined ? '' : `, cached $${cachedInput}`
  const limit = upTo === undefined ? '' : ` up to ${grouped(upTo)}`
  return `$${input} in, $${output} out${cached}${limit} ${dim(asOf === 'stated' ? '(stated)' : `(${asOf})`)}`
}

/** The learned window is shown in its own place; several credentials may have the same note. */
const learnedKinds = (notes: readonly ModelNote[]): NoteKind[] => [
  ...new Set(notes.flatMap(({ kind }) => (kind === 'window' ? [] : [kind]))),
]

const grouped = (tokens: number): string => tokens.toLocaleString('en-US')

const providerJson = ({ provider, failure, advice, models: known }: ProviderModels) => ({
  provider,
  failure: failure
    ? { kind: failure.kind, detail: failure.detail, status: failure.status ?? null, advice: advice ?? null }
    : null,
  models: known.map(({ handle, window, maxOutput, price, usedBy, isListed, notes }) => ({
    handle,
    window: window?.tokens ?? null,
    window_from: window?.from ?? null,
    max_output: maxOutput ?? null,
    price: price ? priceJson(price) : null,
    used_by: usedBy,
    listed: isListed,
    text_only_results: notes.some(({ kind }) => kind === 'textOnlyResults'),
    learned: learnedKinds(notes),
  })),
})

const priceJson = ({ input, output, cachedInput, cacheWrite, upTo, asOf }: Price) => ({
  input,
  output,
  cached_input: cachedInput ?? null,
  cache_write: cacheWrite ?? null,
  up_to: upTo ?? null,
  as_of: asOf,
})
