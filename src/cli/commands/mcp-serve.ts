import { createInterface } from 'node:readline'
import { errorText } from '../../core/error-text.ts'
import type { CliContext } from '../cli-context.ts'
import { withHome } from '../home-session.ts'

type RpcMessage = { jsonrpc: '2.0'; id?: string | number }

const INTERNAL_ERROR = -32_603
const PARSE_ERROR = -32_700

/** MCP over stdin and stdout: each line is a request of the HTTP endpoint, through the server if one runs. */
export const serve = (cli: CliContext): Promise<void> =>
  withHome(cli, 'turns', async ({ api }) => {
    const answer = (message: unknown) => void process.stdout.write(`${JSON.stringify(message)}\n`)
    const open = new Set<Promise<void>>()
    for await (const line of createInterface({ input: process.stdin })) {
      if (line.trim() === '') continue
      const request = parseLine(line)
      if (!request) {
        answer({
          jsonrpc: '2.0',
          id: null,
          error: { code: PARSE_ERROR, message: 'The line is not a JSON-RPC message.' },
        })
        continue
      }
      const work = api.request<RpcMessage | null>('POST', '/v1/mcp', request).then(
        (response) => {
          if (response) answer(response)
        },
        (fault) => {
          const error = { code: INTERNAL_ERROR, message: errorText(fault) }
          if (request.id !== undefined) answer({ jsonrpc: '2.0', id: request.id, error })
        },
      )
      open.add(work)
      void work.finally(() => open.delete(work))
    }
    await Promise.all(open)
  })

function parseLine(line: string): RpcMessage | undefined {
  try {
    const value = JSON.parse(line) as RpcMessage | null
    return value !== null && typeof value === 'object' && value.jsonrpc === '2.0' ? value : undefined
  } catch {
    return undefined
  }
}
