import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { ADMISSION_POLICIES, type AdmissionPolicy } from '../../core/admission.ts'
import type { Agent } from '../../core/agent.ts'
import { Problem } from '../../core/problem.ts'
import { askedReasoning, type SendBody } from './send-body.ts'

const WHEN_BUSY_HEADER = 'x-holdfast-when-busy'

const policy = z.enum(ADMISSION_POLICIES)

/** Settings of one run: a message that joins a running turn cannot have its own. */
const OWN_RUN_FIELDS = [
  'max_steps',
  'override_model',
  'override_system',
  'client_tools',
  'client_skills',
  'enable_thinking',
  'callback_url',
  'cancel_on_disconnect',
] as const satisfies readonly (keyof SendBody)[]

type BusyRequest = { headers: IncomingHttpHeaders; body: SendBody; agent: Agent; usual: AdmissionPolicy }

/** What the message does if its conversation is busy: as the request says, else the agent, else the route. */
export function whenBusyOf({ headers, body, agent, usual }: BusyRequest): AdmissionPolicy {
  const asked = body.when_busy ?? undefined
  const named = headerPolicy(headers)
  if (asked && named && asked !== named)
    throw new Problem('invalid', `body.when_busy: is "${asked}", but the header ${WHEN_BUSY_HEADER} is "${named}"`)
  const chosen = asked ?? named
  const ownFields = OWN_RUN_FIELDS.filter((field) => isGiven(field, body))
  if (chosen === 'steer' && ownFields.length > 0)
    throw new Problem(
      'invalid',
      `body.${ownFields[0]}: has no effect on a turn that already runs. Leave it out, or use another \`when_busy\` than "steer".`,
    )
  if (chosen) return chosen
  const byDefault = agent.settings?.whenBusy ?? usual
  // A default must not refuse messages that bring settings of their own.
  return byDefault === 'steer' && ownFields.length > 0 ? 'queue' : byDefault
}

function headerPolicy(headers: IncomingHttpHeaders): AdmissionPolicy | undefined {
  const value = headers[WHEN_BUSY_HEADER]
  if (value === undefined || value === '') return undefined
  const parsed = policy.safeParse(value)
  if (parsed.success) return parsed.data
  throw new Problem(
    'invalid',
    `header ${WHEN_BUSY_HEADER}: must be one of ${ADMISSION_POLICIES.join(', ')}, not "${String(value).slice(0, 80)}"`,
  )
}

function isGiven(field: (typeof OWN_RUN_FIELDS)[number], body: SendBody): boolean {
  const value = body[field]
  if (field === 'enable_thinking') return askedReasoning(body) !== undefined
  return Array.isArray(value)
    ? value.length > 0
    : value !== undefined && value !== null && value !== false && value !== ''
}
