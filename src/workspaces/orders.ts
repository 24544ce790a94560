import { dirname } from 'node:path'
import type { Containment, WorkspaceQuota } from '../ports/workspaces.ts'
import type { Place } from './folder.ts'
import type { SupervisorOrders } from './protocol.ts'
import { INSIDE } from './sandbox/bubblewrap.ts'

/** Awake without anything to do; waking takes about as long as a command or two. */
const SLEEP_AFTER_MS = 60_000

type Sandbox = { containment: Containment; quota: WorkspaceQuota; egress: readonly string[] }

export function ordersFor(place: Place, sandbox: Sandbox, sleepAfterMs = SLEEP_AFTER_MS): SupervisorOrders {
  const { containment, quota } = sandbox
  const isInside = containment === 'bubblewrap'
  const hasWayOut = isInside && sandbox.egress.length > 0
  return {
    ...{ version: 1, containment, quota, sleepAfterMs, socket: 3 },
    folder: isInside ? INSIDE.folder : place.files,
    spool: isInside ? INSIDE.spool : place.spool,
    environment: isInside ? { ...INSIDE_ENVIRONMENT, ...(hasWayOut ? PROXY : {}) } : localEnvironment(place),
    ...(hasWayOut ? { egress: { folder: INSIDE.egress, port: PROXY_PORT } } : {}),
  }
}

/** Everything a command is given. Nothing of the server's own. */
const INSIDE_ENVIRONMENT = {
  // At the end the Node that keeps the workspace: a machine may have none of its own, or one for its users alone.
  PATH: `/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:${dirname(INSIDE.node)}`,
  HOME: INSIDE.folder,
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
  // What would wait for somebody to turn pages.
  PAGER: 'cat',
  GIT_PAGER: 'cat',
}

const PROXY_PORT = 3128
const ADDRESS = `http://127.0.0.1:${PROXY_PORT}`
const PROXY = {
  HTTP_PROXY: ADDRESS,
  HTTPS_PROXY: ADDRESS,
  http_proxy: ADDRESS,
  https_proxy: ADDRESS,
  NO_PROXY: 'localhost,127.0.0.1,::1',
  no_proxy: 'localhost,127.0.0.1,::1',
}

/** Without a sandbox a command sees the machine, but still not what the server was told in confidence. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

function localEnvironment(place: Place): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  return { HOME: place.files, ...Object.fromEntries(passed), TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' }
}
