import { z } from 'zod'
import { readServerHealth, readSpending } from '../../service/server/server-health.ts'
import { checkStore } from '../../service/store/check-store.ts'
import { operation } from '../operation.ts'
import { findingsSchema, healthSchema, spendingSchema, wireFindings, wireHealth, wireSpending } from './wire/health.ts'

const showHealth = operation({
  route: 'GET /v1/holdfast/health',
  scope: 'operator',
  summary: 'Shows providers with their cooldowns, queues, workers, the sandbox and the last backup',
  answer: healthSchema,
  handle: async (_, context) => wireHealth(await readServerHealth(context)),
})

const runDoctor = operation({
  route: 'POST /v1/holdfast/doctor',
  scope: 'operator',
  summary: 'Checks the stored data against every invariant, as `holdfast doctor` does; it reads all of it',
  audit: 'before',
  answer: findingsSchema,
  handle: async (_, context) => wireFindings(await checkStore(context)),
})

const showSpending = operation({
  route: 'GET /v1/holdfast/spending',
  scope: 'read',
  summary: 'Lists what the organization spent on models on each of the last days, the newest first',
  query: z.object({ days: z.coerce.number().int().min(1).max(90).optional().default(14).describe('How many days.') }),
  answer: z.array(spendingSchema),
  handle: async ({ query }, context) => (await readSpending(query.days, context)).map(wireSpending),
})

const showSettings = operation({
  route: 'GET /v1/holdfast/settings',
  scope: 'operator',
  summary: 'Lists the settings in force, without secrets; they are changed in config.yaml and the environment',
  answer: z.array(z.object({ name: z.string().describe('Section and name.'), value: z.string().describe('As text.') })),
  handle: (_, { shownSettings }) => [...shownSettings],
})

const checkSettings = operation({
  route: 'GET /v1/holdfast/settings/check',
  scope: 'operator',
  summary: 'Reads config.yaml and the environment again, and says what is wrong or would change with a restart',
  answer: z.object({
    faults: z.array(z.string()).describe('What is wrong; with any of these the server does not start again.'),
    changed: z
      .array(z.string())
      .describe('Settings whose values differ from those in force. Secrets are not compared.'),
  }),
  handle: (_, context) => context.checkConfiguration(),
})

export const healthOperations = [showHealth, runDoctor, showSpending, showSettings, checkSettings]
