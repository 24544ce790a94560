import { readFileSync } from 'node:fs'
import { openApp } from './app.ts'
import { defined } from './core/defined.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from './core/listening.ts'
import { type Holdfast, newHoldfast } from './embedding/holdfast.ts'
import type { Environment } from './ports/environment.ts'
import type { ModelProvider } from './ports/model.ts'
import type { Tool } from './ports/tool.ts'

/** The entry point for programs that run Holdfast inside them. `docs/embedding.md` shows each part. */
export type HoldfastOptions = {
  /** Folder with everything that must survive. `HOLDFAST_HOME`, or `~/.holdfast`, if it is left out. */
  home?: string
  /** Address of a PostgreSQL database in place of SQLite in the home. */
  databaseUrl?: string
  /** Tools beside the built-in ones, made with `defineTool`. */
  tools?: Tool[]
  /** Providers beside the built-in ones, by the name in front of the `/` of a model handle. */
  providers?: Record<string, ModelProvider>
  /** Settings (`HOLDFAST_…`) and provider keys; `process.env` if it is left out. */
  environment?: Environment
  /** Called with each fault of Holdfast itself; they are written to stderr if it is left out. */
  report?(fault: unknown, where: string): void
}

/** Opens a home and starts its engine: turns that a crash interrupted continue. */
export async function openHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  const { home, databaseUrl, environment = process.env, ...rest } = options
  const variables: Record<string, string | undefined> = { ...environment }
  if (home !== undefined) variables.HOLDFAST_HOME = home
  if (databaseUrl !== undefined) variables.HOLDFAST_DATABASE_URL = databaseUrl
  const { context, settings, close } = await openApp({ ...rest, environment: variables, role: 'owner' })
  const servers = new Set<() => Promise<void>>()
  let closed: Promise<void> | undefined
  const closeAll = async (): Promise<void> => {
    await Promise.all([...servers].map((closeServer) => closeServer()))
    await close()
  }
  return newHoldfast(context, {
    async serve({ host = DEFAULT_HOST, port = DEFAULT_PORT } = {}) {
      const { serveHome } = await import('./http/serve-home.ts')
      const environmentKey = variables.HOLDFAST_API_KEY?.trim()
      const server = await serveHome({
        context,
        home: settings.home,
        host,
        port,
        version: versionOfPackage(),
        report: context.deps.report,
        ...defined({ environmentKey: environmentKey || undefined }),
      })
      const closeServer = async () => {
        servers.delete(closeServer)
        await server.close()
      }
      servers.add(closeServer)
      return { url: server.url, key: server.key.key, close: closeServer }
    },
    close() {
      closed ??= closeAll()
      return closed
    },
  })
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

export type { Agent, Conversation } from './core/agent.ts'
export type { Part } from './core/answer.ts'
export type { Verdict } from './core/approval.ts'
export type { Block } from './core/block.ts'
export type { Chunk, NumberedChunk } from './core/chunk.ts'
export type { Failure, FailureKind } from './core/failure.ts'
export type { InputPart, Message } from './core/message.ts'
export type { ModelSettings } from './core/model-settings.ts'
export { Problem, type ProblemKind } from './core/problem.ts'
export type { Run } from './core/run.ts'
export { defineProvider } from './embedding/define-provider.ts'
export type { Holdfast, Reply, SentMessage, ServedHoldfast } from './embedding/holdfast.ts'
export type { ModelProvider, ModelRequest } from './ports/model.ts'
export type { Tool, ToolAnswer, ToolContext } from './ports/tool.ts'
export { defineTool, failure, success } from './tools/define-tool.ts'
