import type { CredentialId } from '../../core/credential.ts'
import { Problem } from '../../core/problem.ts'
import type { DeviceOutcome } from '../../ports/credential-care.ts'
import type { Refreshed } from '../../ports/credentials.ts'
import { listCooldowns } from '../../service/credentials/cooldowns.ts'
import {
  addCredential,
  listCredentials,
  type Renewed,
  removeCredential,
  renewCredentials,
  requireCredential,
} from '../../service/credentials/credentials.ts'
import { rotateSecretKey } from '../../service/credentials/rotate-secret-key.ts'
import { addToken, signIn } from '../../service/credentials/sign-in.ts'
import type { Desk } from '../../service/desk.ts'
import { poolMembers, requireProviderName } from '../../service/providers/providers.ts'
import { type Context, printJson, withApp } from '../context.ts'
import { INTERRUPTED } from '../exit-codes.ts'
import { confirmed, secretFromKeyboard, secretFromPipe } from '../read-secret.ts'
import { credentialJson, credentialLine } from '../render/credential.ts'
import { count } from '../render/run.ts'
import { stoppable } from '../stoppable.ts'
import { safeText } from '../terminal.ts'

type AddOptions = {
  label?: string
  keyStdin?: boolean
  tokenStdin?: boolean
  tokenUrl?: string
  clientId?: string
  device?: boolean
  replace?: boolean
}

export const add = (provider: string, options: AddOptions, context: Context): Promise<number> =>
  withApp(context, 'guest', async ({ desk }) => {
    requireProviderName(provider, desk)
    if ([options.keyStdin, options.tokenStdin, options.device].filter(Boolean).length > 1)
      throw new Problem('invalid', 'Choose one of --key-stdin, --token-stdin and --device.')
    if (options.device) return addByDevice(provider, options, { desk, context })
    const secret = await readSecret(provider, options, context)
    if (secret === undefined) return INTERRUPTED
    const more = {
      ...(options.label === undefined ? {} : { label: options.label }),
      ...(options.replace ? { onSameLabel: 'replace' as const } : {}),
    }
    const { tokenUrl, clientId } = options
    const from = { ...(tokenUrl ? { tokenUrl } : {}), ...(clientId ? { clientId } : {}) }
    const added = options.tokenStdin
      ? await addToken({ provider, answer: secret, ...more, ...from }, desk)
      : await addCredential({ provider, secret: plainKey(secret), ...more }, desk)
    tellAdded({ label: added.label, hint: added.hint ?? '' }, provider, { desk, context })
    return 0
  })

export const listAll = ({ json }: { json?: boolean }, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    const { out } = context
    const members = poolMembers(await listCredentials(desk), await listCooldowns(desk))
    if (json) return printJson(out, members.map(credentialJson))
    if (members.length === 0) out.line('No credentials yet. `holdfast auth add PROVIDER` adds one.')
    const now = desk.world.clock.now()
    for (const provider of new Set(members.map((member) => member.provider))) {
      out.line(out.look.paint.bold(safeText(provider)))
      for (const member of members.filter((one) => one.provider === provider)) {
        const id = member.source === 'stored' ? out.look.paint.dim(`  ${member.id}`) : ''
        out.line(`  ${credentialLine(member, now, out.look)}${id}`)
      }
    }
  })

/** Exit code 1 if one of them could not be renewed. */
export const refresh = (which: string, context: Context): Promise<number> =>
  stoppable((signal) =>
    withApp(context, 'guest', async ({ desk }) => {
      const { renewed, variables } = await renewCredentials({ which, signal }, desk)
      for (const one of renewed) context.out.line(renewalText(one))
      for (const variable of variables)
        context.out.line(`${variable} is read from the environment for each attempt: change it there and start again.`)
      return renewed.some(({ refreshed }) => refreshed.type === 'dead' || refreshed.type === 'failed') ? 1 : 0
    }),
  )

export const remove = (idOrLabel: string, { yes }: { yes?: boolean }, context: Context): Promise<number> =>
  withApp(context, 'guest', async ({ desk }) => {
    const { provider, label, id } = await requireCredential(idOrLabel, desk)
    const what = `${safeText(label)} of ${provider} (${id})`
    if (!yes) {
      const { stdin, stderr } = process
      if (!stdin.isTTY) throw new Problem('invalid', `Nobody is here to ask. Add --yes to remove ${what}.`)
      if (!(await confirmed(`Remove ${what}? Its secret is gone then. [y/N] `, stdin, stderr))) {
        context.out.line('Nothing was removed.')
        return 1
      }
    }
    await removeCredential(id, desk)
    context.out.line(`Removed ${what}.`)
    return 0
  })

export const rotate = (context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk, settings }) => {
    if (context.environment.DATABASE_URL)
      context.notes.line(
        `Other machines on this database have copies of secret.key: stop them first, and give them the new one from ${settings.home} before they start.`,
      )
    const { resealed } = await rotateSecretKey(desk)
    context.out.line(
      `The key of ${settings.home} is a new one; ${count(resealed, 'credential')} sealed anew, the old key dropped.`,
    )
  })

type At = { desk: Desk; context: Context }

async function readSecret(provider: string, options: AddOptions, context: Context): Promise<string | undefined> {
  const { stdin } = process
  if (options.keyStdin || options.tokenStdin) return secretFromPipe(stdin)
  if (stdin.isTTY) return secretFromKeyboard(`Key of ${provider} (it is not shown): `, context.notes, stdin)
  throw new Problem('invalid', 'There is no terminal to type the key at. Pipe it in and add --key-stdin.')
}

function plainKey(secret: string): string {
  if (/\s/.test(secret)) throw new Problem('invalid', 'A key is one word; what was given has spaces or several lines.')
  return secret
}

function tellAdded(added: { label: string; hint: string }, provider: string, { desk, context }: At): void {
  const { out } = context
  const what = [safeText(added.label), added.hint].filter(Boolean).join(' ')
  out.line(`Kept ${what} for ${provider}, sealed.`)
  const hasAddress = desk.directory.list().some(({ name }) => name === provider)
  if (hasAddress)
    out.line(`\`holdfast providers test ${provider}\` tries it; agents that run already use it from now on.`)
  else
    out.line(`Nothing asks ${provider} yet: give it an address as \`providers.${provider}.base_url\` in config.yaml.`)
}

const addByDevice = (provider: string, { label }: AddOptions, { desk, context }: At): Promise<number> =>
  stoppable(async (signal) => {
    const { out } = context
    const flow = await signIn({ provider, signal, ...(label === undefined ? {} : { label }) }, desk)
    out.line(`Open ${out.look.paint.bold(safeText(flow.verificationUrl))}`)
    out.line(`and enter ${out.look.paint.bold(safeText(flow.userCode))}`)
    out.line('Waiting until that is done; Ctrl-C stops.')
    const outcome = await flow.poll(signal)
    if (outcome.type !== 'stored') {
      out.line(DEVICE_WORDS[outcome.type](outcome))
      return 1
    }
    tellAdded({ label: await labelOf(outcome.credentialId, desk), hint: '' }, provider, { desk, context })
    return 0
  })

const labelOf = async (id: CredentialId, desk: Desk): Promise<string> => (await requireCredential(id, desk)).label

type Unfinished = Exclude<DeviceOutcome, { type: 'stored' }>

const DEVICE_WORDS: Record<Unfinished['type'], (outcome: Unfinished) => string> = {
  denied: () => 'The login was declined. Nothing was kept.',
  expired: () => 'Nobody entered the code in time. Nothing was kept.',
  cancelled: () => 'Stopped. Nothing was kept.',
  failed: (outcome) =>
    `The login failed: ${outcome.type === 'failed' ? safeText(outcome.detail) : ''}. Nothing was kept.`,
}

function renewalText({ credential, refreshed }: Renewed): string {
  const { label, provider, kind, expiresAt } = credential
  const name = `${safeText(label)} of ${provider}`
  const again =
    kind === 'oauth'
      ? `holdfast auth add ${provider} --label ${label} --device`
      : `holdfast auth add ${provider} --label ${label} --replace`
  const words: Record<Refreshed['type'], string> = {
    refreshed: `${name} was renewed${expiresAt === undefined ? '' : `; its token lasts until ${new Date(expiresAt).toISOString()}`}.`,
    unchanged: `${name} has nothing to renew. For a new secret: \`${again}\`.`,
    dead: `${name} is dead: ${detailOf(refreshed)}. Sign in again: \`${again}\`.`,
    failed: `${name} was not renewed: ${detailOf(refreshed)}.`,
  }
  return words[refreshed.type]
}

const detailOf = (refreshed: Refreshed): string => ('detail' in refreshed ? safeText(refreshed.detail) : '')
