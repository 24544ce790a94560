import type { Json } from '../../core/json.ts'
import type { MessageBody } from '../../core/message.ts'
import type { CallResult } from './friendly-comments.ts'
import type { FriendlyRule } from './friendly-rule.ts'
import type { Pace, Reply, ScriptedCall } from './reply.ts'

/** Files stream faster than sentences, because they are not read letter by letter. */
const TYPING: Pace = { chunkSize: 60, delayMs: 30 }

const PAGE = `<!doctype html>
<title>Holdfast</title>
<h1>Hello from a workspace</h1>
<p>This page is served by a process that outlives the agent, the server and kill -9.</p>
`

/** Uses any free port and writes it to a file: without a sandbox a fixed port may be in use. */
const SERVER = `import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  console.log(new Date().toISOString(), request.method, request.url)
  response.setHeader('content-type', 'text/html').end(readFileSync('page/index.html'))
})
server.listen(0, '127.0.0.1', () => {
  writeFileSync('page/port', String(server.address().port))
  console.log('listening on port', server.address().port)
})
`

const VISIT = `import { readFileSync } from 'node:fs'

for (let tries = 1; ; tries++) {
  try {
    const answer = await fetch('http://127.0.0.1:' + readFileSync('page/port', 'utf8'))
    console.log(answer.status, await answer.text())
    break
  } catch (fault) {
    if (tries === 50) throw fault
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
`

const PROGRAM = `const primes = []
for (let n = 2; primes.length < 20; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
console.log('The first twenty primes:', primes.join(' '))
console.log('Found by Node', process.version, 'in', process.cwd())
`

const writeFileCall = (path: string, content: string): ScriptedCall => ({
  tool: 'write_file',
  input: { path, content },
})
const shellCall = (input: { command: string; background?: boolean; notify?: boolean }): ScriptedCall => ({
  tool: 'shell',
  input,
})
const processCall = (action: string, more: { process_id?: string } = {}): ScriptedCall => ({
  tool: 'process',
  input: { action, ...more },
})

const SERVE_CALL = shellCall({ command: 'node page/server.mjs', background: true })
const VISIT_CALL = shellCall({ command: 'node page/visit.mjs' })

const KEPT_RUNNING = `It runs, and it answers. It keeps running when this turn ends, when the chat is closed and when the server is killed. Say:
- "is it still running" or "show its log", also after a restart
- "visit it" - I request its page again; in a sandbox only this workspace can reach it
- "stop it" - I end it`

/** Rules for agents that have the workspace tools. */
export const WORKSPACE_RULES: FriendlyRule[] = [
  {
    pattern: /^(?:write|make|build|create)\b.*\b(?:web ?page|web ?site|server)\b/,
    answer: () => ({
      text: 'I will write a page, a small server for it, and a visitor to try it with.',
      calls: [
        writeFileCall('page/index.html', PAGE),
        writeFileCall('page/server.mjs', SERVER),
        writeFileCall('page/visit.mjs', VISIT),
      ],
      pace: TYPING,
    }),
    next: ({ rounds, match }) =>
      /\b(?:serve|run|start|keep)\b/i.test(match.input) ? serveStep(rounds.length) : undefined,
  },
  {
    pattern: /^(?:write|make|create)\b.*\b(?:program|script)\b/,
    answer: () => ({
      text: 'A small program in JavaScript.',
      calls: [writeFileCall('primes.mjs', PROGRAM)],
      pace: TYPING,
    }),
    next: () => ({ text: 'It is in primes.mjs. Say "run it", or "read primes.mjs".' }),
  },
  {
    pattern:
      /^write (?:a file |the file )?["'`]?([\w./-]+)["'`]? (?:saying|with the words|with|containing)\s*:?\s+(.+)$/,
    answer: ([, path = '', text = '']) => ({
      text: 'I will write that.',
      calls: [writeFileCall(path.slice(0, 200), `${text}\n`)],
    }),
  },
  {
    pattern: /^(?:run|start|serve|execute) (?:it|that|the (?:program|script|page|server))\b/,
    answer: (_, messages) => runLastWritten(messages),
    next: ({ rounds, messages }) =>
      lastWritten(messages) === 'page' ? serveStep(rounds.length + 1) : { text: 'That is its output.' },
  },
  {
    pattern: /^(?:run|execute)(?: the command)?\s*:?\s+(.+?)(\s+in the background)?$/,
    answer: ([, command = '', isBackground]) => {
      const input = { command: unquoted(command).slice(0, 4_000) }
      if (!isBackground) return { text: 'I will run that.', calls: [shellCall(input)] }
      const text = 'I will start it and leave it running. I am woken when it ends.'
      return { text, calls: [shellCall({ ...input, background: true, notify: true })] }
    },
    next: ({ match }) => ({ text: match[2] ? 'It has started. Ask me "what is running".' : 'That is its output.' }),
  },
  {
    // The message that wakes a conversation when its background process ends.
    pattern: /^The background process (\S+) \(.*\) ended after [^:]*: ([^.]*)\./,
    answer: ([, id = '', how = '']) => ({ text: `I was woken: ${id} has ended (${how}).` }),
  },
  {
    pattern:
      /\b(?:still|anything|what(?:'s| is)) (?:\w+ )?running\b|^is (?:it|the server) (?:running|alive)|^(?:list|show) (?:the |all )?processes/,
    answer: () => ({ text: 'Let me look.', calls: [processCall('list')] }),
    next: ({ rounds }) => ({
      text: isAnyRunning(rounds.at(-1)) ? 'It is still running.' : 'Nothing is running any more.',
    }),
  },
  {
    pattern: /\b(?:show|read|see|print)\b.*\blogs?\b/,
    answer: () => ({ text: 'Let me find it.', calls: [processCall('list')] }),
    next: ({ rounds }) =>
      actOnLatestProcess(rounds, 'log', 'That is its log, including the time between our messages.'),
  },
  {
    pattern: /^(?:stop|end|kill) (?:it|that|the (?:server|process))\b/,
    answer: () => ({ text: 'Let me find it.', calls: [processCall('list')] }),
    next: ({ rounds }) => actOnLatestProcess(rounds, 'kill', 'It has ended. Its files and its log are still there.'),
  },
  {
    pattern: /^(?:visit|ask|open) (?:it|the (?:server|page))\b/,
    answer: () => ({ text: 'I will ask it for its page.', calls: [VISIT_CALL] }),
    next: () => ({ text: 'It answers.' }),
  },
  {
    pattern: /^(?:read|show|open)(?: me)?(?: the)?(?: file)? ["'`]?([\w./-]+\.\w+)["'`]?$/,
    answer: ([, path = '']) => ({ text: 'I will open it.', calls: [{ tool: 'read_file', input: { path } }] }),
    next: () => ({ text: 'That is all of it.' }),
  },
  {
    pattern: /^(?:replace|change) ["'`]?(.+?)["'`]? (?:with|to|by) ["'`]?(.+?)["'`]? in ["'`]?([\w./-]+)["'`]?$/,
    answer: ([, find = '', replace = '', path = '']) => ({
      text: 'I will change that.',
      calls: [{ tool: 'edit_file', input: { path, find, replace } }],
    }),
    next: () => ({ text: 'Done. The rest of the file is as it was.' }),
  },
  {
    pattern: /^(?:search|look|grep)(?: (?:in )?(?:the |my )?files)? for ["'`]?(.+?)["'`]?$/,
    answer: ([, pattern = '']) => ({
      text: 'I will look through the files.',
      calls: [{ tool: 'search_files', input: { pattern, text: true, ignore_case: true } }],
    }),
    next: () => ({ text: 'Those are the matches.' }),
  },
  {
    pattern: /\b(?:list|show|which|what)\b.*\bfiles\b/,
    answer: () => ({ text: 'Let me look.', calls: [shellCall({ command: 'ls -lR' })] }),
    next: () => ({ text: 'These are the files of this conversation. No other conversation sees them.' }),
  },
]

/** The steps after the files are written: start the server, visit it, explain it. */
function serveStep(step: number): Reply | undefined {
  if (step === 1) return { text: 'Now I start the server and leave it running.', calls: [SERVE_CALL] }
  if (step === 2) return { text: 'Let me see whether it answers.', calls: [VISIT_CALL] }
  return { text: KEPT_RUNNING }
}

function runLastWritten(messages: readonly MessageBody[]): Reply {
  const last = lastWritten(messages)
  if (last === 'page') return { text: 'I start the server and leave it running.', calls: [SERVE_CALL] }
  if (last === 'program') return { text: 'Here it goes.', calls: [shellCall({ command: 'node primes.mjs' })] }
  return { text: 'I have written nothing yet that could be run. Say "write a small program" first.' }
}

function lastWritten(messages: readonly MessageBody[]): 'page' | 'program' | undefined {
  const paths = messages.flatMap((body) =>
    body.role === 'assistant'
      ? body.calls.filter(({ tool }) => tool === 'write_file').map(({ input }) => pathIn(input))
      : [],
  )
  const last = paths.findLast((path) => path === 'primes.mjs' || path === 'page/server.mjs')
  return last === undefined ? undefined : last === 'primes.mjs' ? 'program' : 'page'
}

/** Removes quotes around the whole command; inner quotes stay. */
const unquoted = (command: string): string => /^([`"'])([^`"']*)\1$/.exec(command)?.[2] ?? command

const pathIn = (input: Json): string | undefined => {
  const path = (input as { path?: Json } | null)?.path
  return typeof path === 'string' ? path : undefined
}

/** First acts on the latest listed process, then replies with `afterwards`. */
function actOnLatestProcess(rounds: CallResult[][], action: 'log' | 'kill', afterwards: string): Reply {
  if (rounds.length > 1) return { text: afterwards }
  const id = latestProcessId(rounds[0])
  return id
    ? { text: 'Here it is.', calls: [processCall(action, { process_id: id })] }
    : { text: 'There is no such process.' }
}

/** The tool lists an id, two spaces and a state per line. A running process is preferred to an ended one. */
function latestProcessId(round: CallResult[] | undefined): string | undefined {
  const lines = firstOutput(round)
    .split('\n')
    .filter((line) => /^\S+ {2}\S/.test(line))
  const line = lines.findLast((one) => RUNNING.test(one)) ?? lines.findLast((one) => one.includes('server.mjs'))
  return line?.split(' ')[0]
}

const RUNNING = /^\S+ {2}running\b/m
const isAnyRunning = (round: CallResult[] | undefined): boolean => RUNNING.test(firstOutput(round))
const firstOutput = (round: CallResult[] | undefined): string => round?.[0]?.outcome.output ?? ''
