import { readFileSync, writeFileSync } from 'node:fs'
import { startMcpServer, text } from '../../harness/mcp-server.ts'
import { type Recorded, titleOf } from './compare.ts'
import { newNormalizer } from './normalize.ts'
import { newPlayer, type Values } from './play.ts'
import { get, type RecordedRequest } from './request.ts'
import { HOME_KEY, startServerProcess } from './server-process.ts'

/** Sends the requests in order to a new server and returns its answers. */
export async function recordAnswers(command: string, requests: readonly RecordedRequest[]): Promise<Recorded[]> {
  const mcp = await startMcpServer([
    { name: 'greet', description: 'Says hello.', run: ({ name }) => text(`Hello, ${name}.`) },
    { name: 'whisper', run: () => text('psst') },
  ])
  const { origin: mcpOrigin, host: mcpHost } = new URL(mcp.url)
  const server = await startServerProcess(command)
  const values: Values = new Map([
    ['home', HOME_KEY],
    ['wrong', 'a-key-that-opens-nothing'],
    ['mcp-url', mcp.url],
    ['mcp-sse-url', mcp.sseUrl],
    ['mcp-nowhere', `${mcpOrigin}/messages`],
  ])
  const player = newPlayer(server.port, values)
  const { version } = (await player.play(get('/v1/health'))).body as { version: string }
  const normalize = newNormalizer([
    [server.home, '<home>'],
    [mcpHost, '<mcp server>'],
    [`127.0.0.1:${server.port}`, '<server>'],
    [process.execPath, '<node>'],
    [version, '<version>'],
  ])
  try {
    const answers: Recorded[] = []
    for (const request of requests) {
      const answer = await player.play(request)
      answers.push({ request: titleOf(request), answer: normalize(answer, request.only) })
    }
    return answers
  } finally {
    player.close()
    await server.stop()
    await mcp.close()
  }
}

/** One line for each answer, for readable diffs. */
export function writeRecording(file: string, answers: readonly Recorded[]): void {
  writeFileSync(file, `[\n${answers.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`)
}

export const readRecording = (file: string | URL): Recorded[] => JSON.parse(readFileSync(file, 'utf8'))
