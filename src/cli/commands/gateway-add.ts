import { defined } from '../../core/defined.ts'
import { type AccountSetup, PLATFORM_NAMES, setupOf } from '../../core/gateway/platforms.ts'
import { Problem } from '../../core/problem.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { type CliContext, withApp } from '../cli-context.ts'
import { INTERRUPTED } from '../exit-codes.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { lineFromKeyboard, secretFromKeyboard, secretFromPipe } from '../read-secret.ts'
import { findServer } from '../server/server-connection.ts'
import { safeText } from '../terminal.ts'

type AddFlags = JsonFlag & { name?: string; agent?: string; apiRoot?: string; tokenStdin?: boolean }

/** Nothing is written unless the platform knows the token. */
export async function add(platform: string, flags: AddFlags, cli: CliContext): Promise<number> {
  const known = PLATFORM_NAMES.find((name) => name === platform)
  if (!known)
    throw new Problem('invalid', `Holdfast does not speak "${platform}". It speaks ${PLATFORM_NAMES.join(', ')}.`)
  const { name = known, agent } = flags
  const setup = setupOf(known)
  // Also creates the home, and reports a configuration that cannot be used before anything is asked.
  await withApp(cli, 'guest', async ({ context }) => {
    if (agent !== undefined) await requireAgent(agent, context)
  })
  if (!flags.tokenStdin && process.stdin.isTTY) for (const line of setup.first) cli.notes.line(line)
  const asked = await readAnswers(setup, { api_root: flags.apiRoot })
  const secrets = asked && (await readSecrets(setup, flags, cli))
  if (!secrets) return INTERRUPTED
  const values = { platform: known, ...defined({ agent }), ...asked, ...secrets }
  const result = await cli.addChatAccount({ name, values }, cli.environment)
  if (result.type === 'refused')
    throw new Problem('invalid', `The account was not added, because ${known} refused it: ${safeText(result.reason)}`)
  const { file, bot } = result
  const sentence = `@${safeText(bot)} is the account "${name}" in ${file}.`
  printResult(cli, flags, { sentence, value: { account: name, platform: known, bot, file } })
  if (!flags.json) await sayNext(nextSteps(setup, safeText(bot)), cli)
  return 0
}

const nextSteps = ({ next }: AccountSetup, bot: string): string[] => [
  next.greet.replaceAll('BOT', bot),
  `Approve it: \`${commandLine('gateway approve CODE')}\``,
  next.group.replaceAll('BOT', bot),
]

async function sayNext(steps: readonly string[], { out, homeOf, environment }: CliContext): Promise<void> {
  const server = await findServer(homeOf(environment))
  const start = server
    ? `Restart the server at ${server}: it reads config.yaml when it starts.`
    : `Start the server: \`${commandLine('serve')}\``
  out.line()
  for (const [index, step] of [start, ...steps].entries()) out.line(`${index + 1}. ${step}`)
  out.line()
  out.line(`\`${commandLine('gateway')}\` shows whether the account is up.`)
}

/** What is no secret and has no default: by its option, or by a question. Undefined: Ctrl-C. */
async function readAnswers(
  { asks = [] }: AccountSetup,
  given: Record<string, string | undefined>,
): Promise<Record<string, string> | undefined> {
  const values: Record<string, string> = {}
  for (const [key, value] of Object.entries(given)) if (value !== undefined) values[key] = value
  for (const { key, question } of asks) {
    if (values[key] !== undefined) continue
    if (!process.stdin.isTTY)
      throw new Problem('invalid', `${question}: not given, so nothing was added. Add --${key.replaceAll('_', '-')}.`)
    const answer = await lineFromKeyboard(`${question}: `, process.stdin, process.stderr)
    if (answer === undefined) return undefined
    if (answer === '') throw new Problem('invalid', `${question}: nothing was entered, so nothing was added.`)
    values[key] = answer
  }
  return values
}

/** Undefined: Ctrl-C. */
async function readSecrets(
  { secrets }: AccountSetup,
  { tokenStdin }: AddFlags,
  { notes }: CliContext,
): Promise<Record<string, string> | undefined> {
  const given = tokenStdin ? (await secretFromPipe(process.stdin)).split(/\s+/) : undefined
  if (!given && !process.stdin.isTTY)
    throw new Problem('invalid', 'There is no terminal to read the token from. Pipe it in and add --token-stdin.')
  const values: Record<string, string> = {}
  for (const [index, { key, question }] of secrets.entries()) {
    const secret = given ? given[index] : await secretFromKeyboard(`${question} (hidden): `, notes, process.stdin)
    if (secret === undefined && !given) return undefined
    if (!secret) throw new Problem('invalid', `${question}: nothing was entered, so nothing was added.`)
    if (/\s/.test(secret)) throw new Problem('invalid', `${question}: it must be one word, without spaces.`)
    values[key] = secret
  }
  return values
}
