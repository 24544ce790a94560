import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from '../ports/storage-error.ts'
import type { Desk } from '../service/desk.ts'
import { type Context, type OpenedApp, withApp } from './context.ts'
import { findServer, serverLine } from './server/server-line.ts'
import { serverVerbs } from './server/server-verbs.ts'
import { ownVerbs, type Verbs } from './verbs.ts'

/** A home to work in: rows to read, and somebody who does what is asked. */
export type House = {
  desk: Desk
  settings: OpenedApp['settings']
  verbs: Verbs
  /** Where the server that owns the home listens, if one does. */
  server?: string
}

/** `turns`: somebody must run them, so this process does if no server is there. `rows`: they can wait. */
type Need = 'turns' | 'rows'

type Parts = Pick<Context, 'openApp' | 'environment' | 'homeOf' | 'notes'>

/** A server that has just begun to start owns the home before it listens. */
const STARTING_MS = 1_500
const LOOK_MS = 100

/** The home for the length of one piece of work: through its server while one owns it, otherwise in this process. */
export async function withHouse<T>(context: Parts, need: Need, work: (house: House) => Promise<T>): Promise<T> {
  const server = await findServer(context.homeOf(context.environment))
  if (server) return besideServer(server, context, work)
  let isOpen = false
  try {
    return await withApp(context, need === 'turns' ? 'owner' : 'guest', ({ desk, settings }) => {
      isOpen = true
      return work({ desk, settings, verbs: ownVerbs(desk) })
    })
  } catch (fault) {
    if (isOpen || !(fault instanceof StorageError) || fault.fault !== 'owned') throw fault
    const started = await startedServer(context)
    if (!started) throw fault
    return besideServer(started, context, work)
  }
}

const besideServer = <T>(server: string, context: Parts, work: (house: House) => Promise<T>): Promise<T> =>
  withApp(context, 'guest', ({ desk, settings }) => {
    const givenKey = context.environment.HOLDFAST_API_KEY?.trim()
    const tell = (sentence: string) => context.notes.line(`  ${sentence}`)
    const line = serverLine({ home: settings.home, givenKey, tell })
    return work({ desk, settings, server, verbs: serverVerbs(line, desk) })
  })

async function startedServer({ environment, homeOf }: Parts): Promise<string | undefined> {
  for (const until = Date.now() + STARTING_MS; Date.now() < until; await sleep(LOOK_MS)) {
    const server = await findServer(homeOf(environment))
    if (server) return server
  }
  return undefined
}
