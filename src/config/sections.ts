import { APPROVALS_TO, GATEWAY, GATEWAY_CHAT } from './gateway-settings.ts'
import { SCHEDULES } from './schedule-settings.ts'
import type { Section } from './setting.ts'
import { COMMAND_LINE, GENERAL, LIMITS, OAUTH, PROCESS, PROVIDER, SERVER, WORKSPACES } from './settings.ts'
import { TELEMETRY } from './telemetry-settings.ts'
import { WEB } from './web-settings.ts'

/**
 * A section with its path in config.yaml and the prefix of its environment variables. `<name>` stands for a name that
 * the operator chooses; `command` and `process` are not in config.yaml.
 */
export type NamedSection = { section: Section; description: string; path: readonly string[]; variablePrefix: string }

export const SECTIONS = {
  command: {
    section: COMMAND_LINE,
    description: 'Settings that the command line reads before the rest of the configuration, or without it',
    path: ['command'],
    variablePrefix: 'HOLDFAST_',
  },
  process: {
    section: PROCESS,
    description: 'Settings that may differ between the processes of one installation',
    path: ['process'],
    variablePrefix: 'HOLDFAST_',
  },
  general: {
    section: GENERAL,
    description: 'Holdfast configuration',
    path: [],
    variablePrefix: 'HOLDFAST_',
  },
  provider: {
    section: PROVIDER,
    description: 'Settings of one provider; a name that no vendor has is your own server',
    path: ['providers', '<name>'],
    variablePrefix: 'HOLDFAST_PROVIDER_<NAME>_',
  },
  oauth: {
    section: OAUTH,
    description: "OAuth endpoints of the provider, instead of the vendor's",
    path: ['providers', '<name>', 'oauth'],
    variablePrefix: 'HOLDFAST_PROVIDER_<NAME>_OAUTH_',
  },
  server: {
    section: SERVER,
    description: 'The HTTP server',
    path: ['server'],
    variablePrefix: 'HOLDFAST_SERVER_',
  },
  limits: {
    section: LIMITS,
    description: 'Limits of one process',
    path: ['limits'],
    variablePrefix: 'HOLDFAST_LIMIT_',
  },
  workspaces: {
    section: WORKSPACES,
    description: 'Where agents work: a folder, a terminal and processes for each conversation',
    path: ['workspaces'],
    variablePrefix: 'HOLDFAST_WORKSPACE_',
  },
  web: {
    section: WEB,
    description: 'How agents search and read the web',
    path: ['web'],
    variablePrefix: 'HOLDFAST_WEB_',
  },
  schedules: {
    section: SCHEDULES,
    description: 'Heartbeats, and the schedules that agents make themselves',
    path: ['schedules'],
    variablePrefix: 'HOLDFAST_SCHEDULES_',
  },
  telemetry: {
    section: TELEMETRY,
    description: 'The export of traces and metrics to an OpenTelemetry collector',
    path: ['telemetry'],
    variablePrefix: 'HOLDFAST_TELEMETRY_',
  },
  gateway: {
    section: GATEWAY,
    description: 'One bot on a chat platform; you choose the name',
    path: ['gateway', '<name>'],
    variablePrefix: '',
  },
  approvals: {
    section: APPROVALS_TO,
    description: 'Whom an account asks for approvals, if not the chat that the call came from',
    path: ['gateway', '<name>', 'approvals_to'],
    variablePrefix: '',
  },
  chat: {
    section: GATEWAY_CHAT,
    description:
      'One group, by its id; `"*"` is every group without its own settings. A private chat may have settings too',
    path: ['gateway', '<name>', 'groups', '<name>'],
    variablePrefix: '',
  },
} satisfies Record<string, NamedSection>
