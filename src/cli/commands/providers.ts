import type { Cooldown } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import { ENDING_OF_FAILURE } from '../../core/failure.ts'
import { SCRIPTED } from '../../core/target.ts'
import { clearCooldowns, listCooldowns } from '../../service/credentials/cooldowns.ts'
import {
  type ListedProvider,
  listProviders,
  type ProviderState,
  requireProvider,
} from '../../service/providers/providers.ts'
import { type ProviderTestResult, testProvider } from '../../service/providers/test-provider.ts'
import { readRunLabels } from '../../service/runs/run-labels.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { EXIT_OF_STOP } from '../exit-codes.ts'
import { commandLine, runnable } from '../program-name.ts'
import { credentialJson, credentialLine, untilText } from '../render/credential.ts'
import { timeJson } from '../run-json.ts'
import { stoppable } from '../stoppable.ts'
import { type Look, type Screen, safeText, shortened } from '../terminal.ts'

export const listAll = ({ json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const providers = await listProviders(context)
    if (json) return printJson(out, providers.map(providerJson))
    const now = context.deps.clock.now()
    const { bold, dim, green } = out.look.paint
    const shown = providers.filter(({ state }) => state !== 'not-configured')
    for (const provider of shown) for (const line of providerLines(provider, now, out.look)) out.line(line)
    out.line(
      `${bold('scripted'.padEnd(NAME_WIDTH))} ${green('ready')}  ${dim('built in; needs no API key and no network')}`,
    )
    printUnconfigured(providers, context.directory.unaddressed(), out)
  })

/** Exit code 0 if the provider answered, otherwise the code of `holdfast run` for the failure. */
export const test = (name: string, { model, json }: { model?: string; json?: boolean }, cli: CliContext) =>
  stoppable((signal) =>
    withApp(cli, 'guest', async ({ context }) => {
      const { out } = cli
      const result = await testProvider({ provider: name, signal, ...defined({ model: model || undefined }) }, context)
      const words = await readRunLabels(context)
      const who = result.credentialId === undefined ? undefined : words.credential(result.credentialId)
      if (json) printJson(out, testJson(result, who))
      else for (const line of testLines(result, who, out.look)) out.line(line)
      return result.type === 'answered' ? 0 : EXIT_OF_STOP[ENDING_OF_FAILURE[result.failure.kind].stopReason]
    }),
  )

export const clear = (name: string, { json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    if (requireProvider(name, context) === SCRIPTED)
      return json ? printJson(out, []) : out.line('The scripted provider has no cooldowns.')
    const cooldowns = (await listCooldowns(context)).filter(({ provider }) => provider === name)
    await clearCooldowns({ provider: name }, context)
    if (json) return printJson(out, cooldowns.map(cooldownJson))
    const words = await readRunLabels(context)
    const now = context.deps.clock.now()
    if (cooldowns.length === 0) return out.line(`${name} has no cooldowns.`)
    for (const cooldown of cooldowns)
      out.line(
        `${cooldownSubject(cooldown, words.credential)} can be used again; its cooldown would have lasted ${untilText(cooldown.until, now)}.`,
      )
  })

const NAME_WIDTH = 16

const COLOR: Record<ProviderState, keyof Look['paint']> = {
  ready: 'green',
  'cooling-down': 'yellow',
  dead: 'red',
  'no-key': 'red',
  'not-configured': 'dim',
}

const STATE_TEXT: Record<ProviderState, string> = {
  ready: 'ready',
  'cooling-down': 'cooling down',
  dead: 'dead',
  'no-key': 'API key missing',
  'not-configured': 'not configured',
}

function providerLines(provider: ListedProvider, now: number, look: Look): string[] {
  const { name, state, baseUrl, credentials, cooldowns, usedBy, deadlines, strategy, keyVariables, needsKey } = provider
  const { bold, dim, yellow, red } = look.paint
  const seconds = (ms: number) => `${ms / 1_000} s`
  const { connect, firstByte, stall } = deadlines
  const pool = credentials.length > 1 ? `; pool: ${strategy} of ${credentials.length}` : ''
  const users = usedBy.length > 0 ? dim(`  used by ${usedBy.map(safeText).join(', ')}`) : ''
  const keyless = needsKey
    ? red(`API key is missing: set ${keyVariables.join(' or ')} or run \`${commandLine(`auth add ${name}`)}\``)
    : dim('no API key needed')
  return [
    `${bold(name.padEnd(NAME_WIDTH))} ${look.paint[COLOR[state]](STATE_TEXT[state])}  ${safeText(baseUrl)}${ADDRESS_SOURCE[provider.addressFrom]}${users}`,
    ...(credentials.length === 0 ? [`  ${keyless}`] : []),
    ...credentials.map((member) => `  ${credentialLine(member, now, look)}`),
    ...cooldowns
      .filter(({ scope }) => scope === 'endpoint')
      .map(
        (cooldown) =>
          `  ${yellow(`its endpoint is cooling down ${untilText(cooldown.until, now)} (${cooldown.reason}: ${safeText(cooldown.detail)})`)}`,
      ),
    `  ${dim(`timeouts: connect ${seconds(connect)}, first byte ${seconds(firstByte)}, stall ${seconds(stall)}${pool}`)}`,
  ]
}

const ADDRESS_SOURCE: Record<ListedProvider['addressFrom'], string> = {
  config: ' (config.yaml)',
  environment: ' (environment)',
  vendor: '',
}

/** Lists the providers that are not configured, each with the variable that configures it. */
function printUnconfigured(
  providers: ListedProvider[],
  unaddressed: readonly { name: string; baseUrlVariable: string }[],
  out: Screen,
) {
  const lacking = providers.filter(({ state }) => state === 'not-configured')
  const lines = [
    ...lacking.map(({ name, needsKey, keyVariables, baseUrlVariable }) => [
      name,
      needsKey ? keyVariables.join(' or ') : `${baseUrlVariable}; no API key needed`,
    ]),
    ...unaddressed.map(({ name, baseUrlVariable }) => [name, baseUrlVariable]),
  ]
  if (lines.length === 0) return
  const { dim } = out.look.paint
  out.line()
  out.line(`Not configured (set the variable or run \`${commandLine('auth add NAME')}\`):`)
  for (const [name = '', variable = ''] of lines) out.line(`  ${name.padEnd(NAME_WIDTH)} ${dim(variable)}`)
}

function testLines(result: ProviderTestResult, who: string | undefined, { paint }: Look): string[] {
  const at = `${result.handle}${result.baseUrl ? ` at ${result.baseUrl}` : ''}${who ? `, with ${who}` : ''}`
  const took = `${(result.tookMs / 1_000).toFixed(1)} s`
  switch (result.type) {
    case 'answered': {
      const { promptTokens, completionTokens } = result.usage
      const answer = shortened(safeText(result.text).replaceAll(/\s+/g, ' ').trim(), 80) || '(reasoning only)'
      return [`${paint.green('✓')} ${at}: "${answer}" (${took}, ${promptTokens} + ${completionTokens} tokens)`]
    }
    case 'failed': {
      const { kind, status, detail, code, requestId } = result.failure
      const typed = [status ? `HTTP ${status}` : '', code ?? ''].filter(Boolean).join(', ')
      return [
        `${paint.red('✗')} ${at}: ${kind}${typed ? ` (${safeText(typed)})` : ''} after ${took}`,
        `  ${safeText(detail)}`,
        ...(requestId ? [paint.dim(`  request id: ${safeText(requestId)}`)] : []),
        ...(result.advice ? [`  ${runnable(result.advice)}`] : []),
      ]
    }
  }
}

function testJson(result: ProviderTestResult, who: string | undefined) {
  const { handle, baseUrl, credentialId, tookMs } = result
  const head = { handle, base_url: baseUrl ?? null, credential_id: credentialId ?? null, credential: who ?? null }
  if (result.type === 'answered') {
    const { promptTokens, completionTokens } = result.usage
    const usage = { prompt_tokens: promptTokens, completion_tokens: completionTokens }
    return { ...head, took_ms: tookMs, ok: true, text: result.text, usage }
  }
  const { kind, detail, status, code } = result.failure
  const failure = { kind, detail, status: status ?? null, code: code ?? null, advice: result.advice ?? null }
  return { ...head, took_ms: tookMs, ok: false, failure }
}

const cooldownSubject = ({ scope, key, provider }: Cooldown, label: (id: string) => string): string =>
  scope === 'endpoint' ? `The endpoint of ${provider}` : safeText(label(key))

const cooldownJson = ({ scope, key, reason, detail, until, runId }: Cooldown) => ({
  scope,
  key,
  reason,
  detail,
  until: timeJson(until),
  run_id: runId ?? null,
})

const providerJson = (provider: ListedProvider) => ({
  name: provider.name,
  label: provider.label,
  state: provider.state,
  dialect: provider.dialect,
  base_url: provider.baseUrl,
  address_from: provider.addressFrom,
  base_url_variable: provider.baseUrlVariable,
  key_variables: provider.keyVariables,
  needs_key: provider.needsKey,
  aggregator: provider.isAggregator,
  strategy: provider.strategy,
  deadlines_ms: {
    connect: provider.deadlines.connect,
    first_byte: provider.deadlines.firstByte,
    stall: provider.deadlines.stall,
  },
  credentials: provider.credentials.map(credentialJson),
  cooldowns: provider.cooldowns.map(cooldownJson),
  used_by: provider.usedBy,
})
