import { dirname } from 'node:path'
import { defined } from '../core/defined.ts'
import type { Containment, WorkspaceQuota } from '../ports/workspaces.ts'
import type { SupervisorConfig } from './protocol.ts'
import { SANDBOX_PATHS } from './sandbox/bubblewrap.ts'
import type { WorkspacePaths } from './workspace-folder.ts'

/** Idle time before a supervisor exits. Starting it again takes about as long as a command or two. */
const SLEEP_AFTER_MS = 60_000

type SandboxSettings = { containment: Containment; quota: WorkspaceQuota; egress: readonly string[] }

export function newSupervisorConfig(
  paths: WorkspacePaths,
  sandbox: SandboxSettings,
  sleepAfterMs = SLEEP_AFTER_MS,
): SupervisorConfig {
  const { containment, quota } = sandbox
  const isInside = containment === 'bubblewrap'
  const hasEgress = isInside && sandbox.egress.length > 0
  const environment = hasEgress ? { ...SANDBOX_ENVIRONMENT, ...proxyEnvironment() } : SANDBOX_ENVIRONMENT
  return {
    version: 4,
    containment,
    quota,
    sleepAfterMs,
    socket: 3,
    folder: isInside ? SANDBOX_PATHS.folder : paths.files,
    spool: isInside ? SANDBOX_PATHS.spool : paths.spool,
    environment: isInside ? environment : localEnvironment(paths),
    // Also where commands may reach nothing: a tool may.
    ...defined({
      egress: isInside ? { folder: SANDBOX_PATHS.egress, port: PROXY_PORT, forCommands: hasEgress } : undefined,
    }),
  }
}

/** The whole environment of a command; nothing of the server's is passed. */
export const SANDBOX_ENVIRONMENT = {
  // Last, the Node that runs the supervisor: a machine may have no other, or one in a user's folder only.
  PATH: `/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:${dirname(SANDBOX_PATHS.node)}`,
  HOME: SANDBOX_PATHS.folder,
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
  // A pager would wait for a key.
  PAGER: 'cat',
  GIT_PAGER: 'cat',
}

export const PROXY_PORT = 3128

/** `user`: name and password of a program, with an `@` after them. */
export function proxyEnvironment(user = ''): Record<string, string> {
  const url = `http://${user}127.0.0.1:${PROXY_PORT}`
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    NO_PROXY: 'localhost,127.0.0.1,::1',
    no_proxy: 'localhost,127.0.0.1,::1',
  }
}

/** Without a sandbox a command sees the machine, but not the server's secrets: only these variables are passed. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

function localEnvironment(paths: WorkspacePaths): Record<string, string> {
  const passed = PASSED_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  return { HOME: paths.files, ...Object.fromEntries(passed), TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' }
}
