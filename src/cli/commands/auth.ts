import type { CredentialId } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { DeviceOutcome } from '../../ports/credential-admin.ts'
import type { RefreshResult } from '../../ports/credentials.ts'
import { listCooldowns } from '../../service/credentials/cooldowns.ts'
import {
  addCredential,
  listCredentials,
  type RenewedCredential,
  removeCredential,
  renewCredentials,
  requireCredential,
} from '../../service/credentials/credentials.ts'
import { rotateSecretKey } from '../../service/credentials/rotate-secret-key.ts'
import { addToken, signIn } from '../../service/credentials/sign-in.ts'
import { poolMembers, requireProviderName } from '../../service/providers/providers.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { INTERRUPTED } from '../exit-codes.ts'
import { namedOrganization } from '../named-organization.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { secretFromKeyboard, secretFromPipe } from '../read-secret.ts'
import { credentialJson, credentialLine } from '../render/credential.ts'
import { count } from '../render/run.ts'
import { stoppable } from '../stoppable.ts'
import { safeName, safeText } from '../terminal.ts'

type AuthAddFlags = JsonFlag & {
  organization?: string
  label?: string
  keyStdin?: boolean
  tokenStdin?: boolean
  tokenUrl?: string
  clientId?: string
  device?: boolean
  replace?: boolean
}

export const add = (provider: string, options: AuthAddFlags, cli: CliContext): Promise<number> =>
  withApp(cli, 'guest', async ({ context: server }) => {
    const context = await contextOf(options.organization, server)
    requireProviderName(provider, context)
    if (options.organization !== undefined && (options.device || options.tokenStdin))
      throw new Problem('invalid', 'A login belongs to the server. Give an organization an API key of its own instead.')
    if ([options.keyStdin, options.tokenStdin, options.device].filter(Boolean).length > 1)
      throw new Problem('invalid', 'Use only one of --key-stdin, --token-stdin and --device.')
    if (options.device) return addByDevice(provider, options, { context, cli, flags: options })
    const secret = await readSecret(provider, options, cli)
    if (secret === undefined) return INTERRUPTED
    const more = defined({ label: options.label, onSameLabel: options.replace ? ('replace' as const) : undefined })
    const { tokenUrl, clientId } = options
    const from = defined({ tokenUrl: tokenUrl || undefined, clientId: clientId || undefined })
    const added = options.tokenStdin
      ? await addToken({ provider, tokenResponse: secret, ...more, ...from }, context)
      : await addCredential({ provider, secret: plainKey(secret), ...more }, context)
    printAdded({ label: added.label, hint: added.hint ?? '' }, provider, { context, cli, flags: options })
    return 0
  })

export const listAll = (
  { json, organization }: { json?: boolean; organization?: string },
  cli: CliContext,
): Promise<void> =>
  withApp(cli, 'guest', async ({ context: server }) => {
    const { out } = cli
    const context = await contextOf(organization, server)
    const all = await listCredentials(context)
    // Keys of the environment are those of the server.
    const listed = organization === undefined ? all : { stored: all.stored, environment: [] }
    const members = poolMembers(listed, await listCooldowns(server))
    if (json) return printJson(out, members.map(credentialJson))
    if (members.length === 0) out.line(`No credentials yet. \`${commandLine('auth add PROVIDER')}\` adds one.`)
    const now = context.deps.clock.now()
    for (const provider of new Set(members.map((member) => member.provider))) {
      out.line(out.look.paint.bold(safeText(provider)))
      for (const member of members.filter((one) => one.provider === provider)) {
        const id = member.source === 'stored' ? out.look.paint.dim(`  ${member.id}`) : ''
        out.line(`  ${credentialLine(member, now, out.look)}${id}`)
      }
    }
  })

/** Exit code 1 if a credential could not be renewed. */
export const refresh = (which: string, flags: JsonFlag, cli: CliContext): Promise<number> =>
  stoppable((signal) =>
    withApp(cli, 'guest', async ({ context }) => {
      const { renewed, variables } = await renewCredentials({ which, signal }, context)
      if (flags.json) printJson(cli.out, { renewed: renewed.map(renewalJson), variables })
      else for (const renewal of renewed) cli.out.line(renewalText(renewal))
      for (const variable of flags.json ? [] : variables)
        cli.out.line(
          `${variable} is an environment variable and cannot be refreshed here. Change it and restart Holdfast.`,
        )
      return renewed.some(({ refreshed }) => refreshed.type === 'dead' || refreshed.type === 'failed') ? 1 : 0
    }),
  )

export const remove = (
  idOrLabel: string,
  flags: JsonFlag & { yes?: boolean; organization?: string },
  cli: CliContext,
): Promise<number> =>
  withApp(cli, 'guest', async ({ context: server }) => {
    const context = await contextOf(flags.organization, server)
    const { provider, label, id } = await requireCredential(idOrLabel, context)
    const what = `${safeName(label)} of ${provider} (${id})`
    const consequence = 'Its secret cannot be recovered.'
    if (!(await confirmRemoval({ verb: 'Remove', what, consequence }, flags, cli))) return 1
    await removeCredential(id, context)
    printResult(cli, flags, { sentence: `Removed ${what}.`, value: { id, provider, label, deleted: true } })
    return 0
  })

export const rotate = (flags: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context, settings }) => {
    if (cli.environment.DATABASE_URL)
      cli.notes.line(
        `Other machines on this database have copies of secret.key. Stop them first, and copy the new file from ${settings.home} to each before it starts.`,
      )
    const { resealed } = await rotateSecretKey(context)
    printResult(cli, flags, {
      sentence: `${settings.home} has a new encryption key. ${count(resealed, 'credential')} encrypted again; the old key is deleted.`,
      value: { home: settings.home, resealed },
    })
  })

/** Of the organization whose keys are meant; by default the server's. */
async function contextOf(named: string | undefined, server: ServiceContext): Promise<ServiceContext> {
  const { organizationId = server.organizationId } = await namedOrganization(named, server)
  return { ...server, organizationId: organizationId as OrganizationId }
}

type AuthDeps = { context: ServiceContext; cli: CliContext; flags: JsonFlag }

async function readSecret(provider: string, options: AuthAddFlags, cli: CliContext): Promise<string | undefined> {
  const { stdin } = process
  if (options.keyStdin || options.tokenStdin) return secretFromPipe(stdin)
  if (stdin.isTTY) return secretFromKeyboard(`API key for ${provider} (hidden): `, cli.notes, stdin)
  throw new Problem('invalid', 'There is no terminal to read the API key from. Pipe it in and add --key-stdin.')
}

function plainKey(secret: string): string {
  if (/\s/.test(secret)) throw new Problem('invalid', 'An API key must be one word, without spaces or line breaks.')
  return secret
}

function printAdded(added: { label: string; hint: string }, provider: string, { context, cli, flags }: AuthDeps): void {
  const { out } = cli
  if (flags.json) {
    printJson(out, { provider, label: added.label, hint: added.hint || null })
    return
  }
  const what = [safeName(added.label), added.hint].filter(Boolean).join(' ')
  out.line(`Stored ${what} for ${provider}, encrypted.`)
  const hasAddress = context.directory.list().some(({ name }) => name === provider)
  if (hasAddress)
    out.line(`\`${commandLine(`providers test ${provider}`)}\` tests it. Running agents use it from now on.`)
  else out.line(`Provider ${provider} has no address yet. Set \`providers.${provider}.base_url\` in config.yaml.`)
}

const addByDevice = (provider: string, { label }: AuthAddFlags, { context, cli, flags }: AuthDeps): Promise<number> =>
  stoppable(async (signal) => {
    // With --json only the result goes to stdout.
    const out = flags.json ? cli.notes : cli.out
    const flow = await signIn({ provider, signal, ...defined({ label }) }, context)
    out.line(`Open ${out.look.paint.bold(safeText(flow.verificationUrl))}`)
    out.line(`and enter ${out.look.paint.bold(safeText(flow.userCode))}`)
    out.line('Waiting for the sign-in to complete. Ctrl-C stops.')
    const outcome = await flow.poll(signal)
    if (outcome.type !== 'stored') {
      out.line(DEVICE_OUTCOME_TEXT[outcome.type](outcome))
      return 1
    }
    printAdded({ label: await requireLabel(outcome.credentialId, context), hint: '' }, provider, {
      context,
      cli,
      flags,
    })
    return 0
  })

const requireLabel = async (id: CredentialId, context: ServiceContext): Promise<string> =>
  (await requireCredential(id, context)).label

type UnfinishedLogin = Exclude<DeviceOutcome, { type: 'stored' }>

const DEVICE_OUTCOME_TEXT: Record<UnfinishedLogin['type'], (outcome: UnfinishedLogin) => string> = {
  denied: () => 'The sign-in was declined. Nothing was stored.',
  expired: () => 'The code expired before it was entered. Nothing was stored.',
  cancelled: () => 'Stopped. Nothing was stored.',
  failed: (outcome) =>
    `The sign-in failed: ${outcome.type === 'failed' ? safeText(outcome.detail) : ''}. Nothing was stored.`,
}

function renewalText({ credential, refreshed }: RenewedCredential): string {
  const { label, provider, kind, expiresAt } = credential
  const name = `${safeName(label)} of ${provider}`
  const again =
    kind === 'oauth'
      ? commandLine(`auth add ${provider} --label ${label} --device`)
      : commandLine(`auth add ${provider} --label ${label} --replace`)
  const words: Record<RefreshResult['type'], string> = {
    refreshed: `${name} was refreshed${expiresAt === undefined ? '' : `; its token is valid until ${new Date(expiresAt).toISOString()}`}.`,
    unchanged: `${name} has nothing to refresh. For a new secret: \`${again}\`.`,
    dead: `${name} can no longer be refreshed: ${detailOf(refreshed)}. Sign in again: \`${again}\`.`,
    failed: `${name} was not refreshed: ${detailOf(refreshed)}.`,
  }
  return words[refreshed.type]
}

const renewalJson = ({ credential: { id, label, provider }, refreshed }: RenewedCredential) => ({
  id,
  label,
  provider,
  outcome: refreshed.type,
  detail: detailOf(refreshed) || null,
})

const detailOf = (refreshed: RefreshResult): string => ('detail' in refreshed ? safeText(refreshed.detail) : '')
