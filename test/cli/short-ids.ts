import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { treeOf } from './fixture-commands.ts'
import { holdfast, newHome } from './holdfast.ts'

/** What commands take by its name, its id, or the beginning of its id. */
const NOUNS = ['agent', 'conversation', 'workspace', 'block', 'passage', 'run', 'server', 'key', 'user'] as const
type Noun = (typeof NOUNS)[number]

/** Two of each, so that a common beginning is ambiguous. */
const template = (async () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-template-'))
  after(() => rmSync(home, { recursive: true, force: true }))
  const make = async (...args: string[]) => {
    const { code, stdout, stderr } = await holdfast([...args, '--json'], { home })
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const ids: Record<Noun, string[]> = {
    agent: [],
    conversation: [],
    workspace: [],
    block: [],
    passage: [],
    run: [],
    server: [],
    key: [],
    user: [],
  }
  for (const name of ['ada', 'bob']) {
    ids.agent.push((await make('agents', 'create', name, '--block', 'human=Tea.')).id)
    ids.conversation.push((await make('conversations', 'new', '--agent', name)).id)
    ids.passage.push((await make('memory', 'passages', 'add', 'tea', '--agent', name)).id)
    ids.block.push((await make('memory', 'list', '--agent', name))[0].id)
    ids.run.push((await make('run', 'roll a die', '--agent', name)).run_id)
    ids.server.push((await make('mcp', 'add', name, 'http://127.0.0.1:9/mcp')).id)
    ids.key.push((await make('keys', 'create', name)).id)
    ids.user.push((await make('users', 'create', name)).id)
  }
  ids.workspace = ids.conversation
  return { home, ids }
})()

type Position = { name: string; noun: Noun; args(id: string): string[] }

const FILLED: Record<string, string> = { 'on|off': 'on', tool: 'roll_dice', process: 'proc-1', agent: 'ada' }

/** Every argument of every command that names one of the nouns. */
export const POSITIONS: Position[] = treeOf().flatMap(({ name, command }) => {
  const named = command.registeredArguments.map((argument) => argument.name())
  const flags = command.options.map(({ long }) => long)
  const more = flags.includes('--yes') ? ['--yes'] : []
  if (name === 'memory passages delete') more.push('--agent', 'bob')
  const filled = (id: string, at: number) =>
    named.map((argument, index) => (index === at ? id : (FILLED[argument] ?? 'x')))
  return named.flatMap((argument, at) => {
    const noun = NOUNS.find((one) => one === argument)
    return noun ? [{ name, noun, args: (id: string) => [...name.split(' '), ...filled(id, at), ...more] }] : []
  })
})

/** The id without its end names the same thing, and what two ids have in common is refused with both. */
export async function takesShortIds({ noun, args }: Position, context: TestContext): Promise<void> {
  const { home: stored, ids } = await template
  const [one = '', other = ''] = ids[noun]
  const home = newHome(context)
  cpSync(stored, home, { recursive: true })
  const run = (id: string) => holdfast(args(id), { home, input: 'x', cwd: home, environment: { EDITOR: 'true' } })
  let common = 0
  while (one[common] === other[common]) common++
  const ambiguous = await run(one.slice(0, common))
  assert.match(ambiguous.stderr, /can mean/, `${args(one.slice(0, common))}: ${ambiguous.stdout}${ambiguous.stderr}`)
  assert.ok(ambiguous.stderr.includes(one) && ambiguous.stderr.includes(other))
  assert.notEqual(ambiguous.code, 0)
  const short = await run(other.slice(0, -4))
  // The other words of the command may name nothing.
  const missing = new RegExp(`There is no (memory |MCP |API )?${noun}\\b|can mean|[Uu]nknown|not found`)
  assert.doesNotMatch(short.stderr, missing, args(other.slice(0, -4)).join(' '))
}
