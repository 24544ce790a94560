import { z } from 'zod'
import type { Spending } from '../../../ports/shares.ts'
import type { readServerHealth } from '../../../service/server/server-health.ts'
import type { StoreReport } from '../../../service/store/check-store.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

const providerSchema = z.object({
  name: z.string(),
  state: z
    .enum(['ready', 'cooling-down', 'dead', 'no-key', 'not-configured'])
    .describe('`ready`: requests can be sent; it does not mean that the provider answers.'),
  used_by: z.array(z.string()).describe('Names of the agents whose chain contains it.'),
  credentials: z.array(
    z.object({
      label: z.string(),
      kind: z.string(),
      state: z.enum(['ok', 'cooling-down', 'dead']),
      detail: z.string().nullable().describe('Why it is not used.'),
      until: dateSchema.nullable().describe('When it is used again.'),
    }),
  ),
  cooldowns: z.array(z.object({ of: z.string(), reason: z.string(), detail: z.string(), until: dateSchema })),
})

export const healthSchema = z.lazy(() =>
  z
    .object({
      providers: z.array(providerSchema),
      runs: z.object({
        queued: z.number(),
        running: z.number(),
        waiting: z.number(),
        oldest_queued_at: dateSchema.nullable(),
      }),
      workers: z.number().describe('Processes of this database that run turns.'),
      nodes: z.array(z.string()).describe('Their ids.'),
      search_index: z.object({
        lagging_conversations: z
          .number()
          .describe(
            'Conversations with messages that are not indexed yet, at most 100. A search finds these too, slower.',
          ),
      }),
      sandbox: z.object({
        containment: z.string(),
        fault: z.string().nullable().describe('Why commands cannot run.'),
        kernel: z.array(z.string()).describe('The limits that the kernel enforces here.'),
      }),
      last_backup: z.object({ date: dateSchema, file: z.string(), bytes: z.number() }).nullable(),
    })
    .meta({ id: 'ServerHealth', description: 'What an operator looks at first.' }),
)

type Health = Awaited<ReturnType<typeof readServerHealth>>

export const wireHealth = ({
  providers,
  runs,
  workers,
  lagging,
  sandbox,
  lastBackup,
}: Health): z.output<typeof healthSchema> => ({
  providers: providers.map(({ name, state, usedBy, credentials, cooldowns }) => ({
    name,
    state,
    used_by: usedBy,
    credentials: credentials.map((credential) => ({
      label: credential.label,
      kind: credential.kind,
      state: credential.state.type,
      detail: credential.state.type === 'ok' ? null : credential.state.detail,
      until: credential.state.type === 'cooling-down' ? wireDate(credential.state.until) : null,
    })),
    cooldowns: cooldowns.map(({ scope, reason, detail, until }) => ({
      of: scope,
      reason,
      detail,
      until: wireDate(until),
    })),
  })),
  runs: {
    queued: runs.queued,
    running: runs.running,
    waiting: runs.waiting,
    oldest_queued_at: runs.oldestQueuedAt === undefined ? null : wireDate(runs.oldestQueuedAt),
  },
  workers: workers.length,
  nodes: workers,
  search_index: { lagging_conversations: lagging },
  sandbox: { containment: sandbox.containment, fault: sandbox.fault ?? null, kernel: [...(sandbox.kernel ?? [])] },
  last_backup: lastBackup ? { date: wireDate(lastBackup.at), file: lastBackup.file, bytes: lastBackup.bytes } : null,
})

export const findingsSchema = z.lazy(() =>
  z
    .object({
      runs: z.number(),
      conversations: z.number(),
      messages: z.number(),
      violations: z.array(
        z.object({
          invariant: z.string(),
          sentence: z.string().describe('What must hold.'),
          where: z.string(),
          detail: z.string(),
        }),
      ),
      notices: z.array(z.object({ where: z.string(), detail: z.string() })),
    })
    .meta({ id: 'DoctorFindings' }),
)

export const wireFindings = ({
  runs,
  conversations,
  messages,
  violations,
  notices,
}: StoreReport): z.output<typeof findingsSchema> => ({
  runs,
  conversations,
  messages,
  violations: violations.map(({ invariant, sentence, where, detail }) => ({ invariant, sentence, where, detail })),
  notices,
})

export const spendingSchema = z.lazy(() =>
  z
    .object({
      day: z.string().describe('YYYY-MM-DD, in UTC.'),
      usd: z.number().describe('US dollars, for models with a known price.'),
      tokens: z.number().describe('Tokens of all models.'),
    })
    .meta({ id: 'DaySpending' }),
)

export const wireSpending = ({
  day,
  microDollars,
  tokens,
}: Spending & { day: string }): z.output<typeof spendingSchema> => ({
  day,
  usd: microDollars / 1_000_000,
  tokens,
})
