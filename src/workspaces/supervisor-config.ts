import { dirname } from 'node:path'
import { defined } from '../core/defined.ts'
import type { Containment, WorkspaceQuota } from '../ports/workspaces.ts'
import type { SupervisorConfig } from './protocol.ts'
import { SANDBOX_PATHS } from './sandbox/bubblewrap.ts'
import type { WorkspacePaths } from './workspace-folder.ts'

/** Awake without anything to do; waking takes about as long as a command or two. */
const SLEEP_AFTER_MS = 60_000

type SandboxSettings = { containment: Containment; quota: WorkspaceQuota; egress: readonly string[] }

export function newSupervisorConfig(
  paths: WorkspacePaths,
  sandbox: SandboxSettings,
  sleepAfterMs = SLEEP_AFTER_MS,
): SupervisorConfig {
  const { containment, quota } = sandbox
  const isInside = containment === 'bubblewrap'
  const hasWayOut = isInside && sandbox.egress.length > 0
  return {
    version: 1,
    containment,
    quota,
    sleepAfterMs,
    socket: 3,
    folder: isInside ? SANDBOX_PATHS.folder : paths.files,
    spool: isInside ? SANDBOX_PATHS.spool : paths.spool,
    environment: isInside ? { ...INSIDE_ENVIRONMENT, ...(hasWayOut ? PROXY : undefined) } : localEnvironment(paths),
    ...defined({ egress: hasWayOut ? { folder: SANDBOX_PATHS.egress, port: PROXY_PORT } : undefined }),
  }
}

/** Everything a command is given. Nothing of the server's own. */
const INSIDE_ENVIRONMENT = {
  // At the end the Node that keeps the workspace: a machine may have none of its own, or one for its users alone.
  PATH: `/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:${dirname(SANDBOX_PATHS.node)}`,
  HOME: SANDBOX_PATHS.folder,
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

function localEnvironment(paths: WorkspacePaths): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  return { HOME: paths.files, ...Object.fromEntries(passed), TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' }
}
