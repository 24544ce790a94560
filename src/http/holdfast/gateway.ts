import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { OUTBOUND_STATES } from '../../core/gateway/outbound.ts'
import { listAccounts } from '../../service/gateway/accounts.ts'
import { listSessions } from '../../service/gateway/chat-sessions.ts'
import { listIdentities, unlinkIdentity } from '../../service/gateway/identities.ts'
import { approvePairing, listPairings, revokePairing } from '../../service/gateway/pairings.ts'
import { listInbound, listOutbound } from '../../service/gateway/updates.ts'
import { limit } from '../field.ts'
import { operation } from '../operation.ts'
import {
  accountSchema,
  identitySchema,
  inboundSchema,
  outboundSchema,
  pairingSchema,
  sessionSchema,
  wireAccount,
  wireIdentity,
  wireInbound,
  wireOutbound,
  wirePairing,
  wireSession,
} from './wire/gateway.ts'

const account = z.string().optional().describe('Only of this account.')
const before = z.coerce
  .number()
  .int()
  .min(1)
  .max(Number.MAX_SAFE_INTEGER)
  .optional()
  .describe('Cursor: number of the last item of the previous page.')

const showAccounts = operation({
  route: 'GET /v1/gateway/accounts',
  scope: 'operator',
  summary: 'Lists the accounts on chat platforms, with their state and what is open in each',
  answer: z.array(accountSchema),
  handle: async (_, context) => (await listAccounts(context)).map(wireAccount),
})

const showSessions = operation({
  route: 'GET /v1/gateway/sessions',
  scope: 'operator',
  summary: 'Lists the sessions of chats, the last active first',
  query: z.object({ account, limit: limit(50) }),
  answer: z.array(sessionSchema),
  handle: async ({ query }, context) =>
    (await listSessions({ ...defined({ account: query.account }), limit: query.limit }, context)).map(wireSession),
})

const showInbound = operation({
  route: 'GET /v1/gateway/inbound',
  scope: 'operator',
  summary: 'Lists what arrived from chat platforms, newest first, with the run it became or why it became none',
  query: z.object({
    account,
    state: z.enum(['pending', 'run', 'ended']).optional().describe('Only in this state.'),
    before,
    limit: limit(50),
  }),
  answer: z.array(inboundSchema),
  handle: async ({ query: { limit: size, ...filter } }, context) =>
    (await listInbound({ ...defined(filter), limit: size }, context)).map(wireInbound),
})

const showOutbound = operation({
  route: 'GET /v1/gateway/outbound',
  scope: 'operator',
  summary: 'Lists the messages of bots, newest first, with what the platform answered',
  query: z.object({
    account,
    state: z.enum(OUTBOUND_STATES).optional().describe('Only in this state.'),
    before,
    limit: limit(50),
  }),
  answer: z.array(outboundSchema),
  async handle({ query: { limit: size, state, ...filter } }, context) {
    const states = state === undefined ? {} : { states: [state] }
    return (await listOutbound({ ...defined(filter), ...states, limit: size }, context)).map(wireOutbound)
  },
})

const showPairings = operation({
  route: 'GET /v1/gateway/pairings',
  scope: 'operator',
  summary: 'Lists the people who may talk to bots in private chats, and those who asked to',
  answer: z.array(pairingSchema),
  handle: async (_, context) => (await listPairings(context)).map(wirePairing),
})

const approve = operation({
  route: 'POST /v1/gateway/pairings/approve',
  scope: 'operator',
  summary: 'Approves the person who was shown this code',
  audit: 'by-verb',
  body: z.object({ code: z.string().min(1).max(40).describe('The code that the bot showed.') }),
  example: { code: 'ABCD2345' },
  answer: pairingSchema,
  handle: async ({ body: { code } }, context) => wirePairing(await approvePairing(code, context)),
})

const revoke = operation({
  route: 'DELETE /v1/gateway/pairings/:account/:sender_id',
  scope: 'operator',
  summary: 'Ends a pairing: the person is a stranger again',
  audit: 'by-verb',
  params: {
    account: z.string().describe('Name of the account.'),
    sender_id: z.string().describe('Id of the person at the platform.'),
  },
  answer: pairingSchema,
  handle: async ({ params: { account: name, sender_id: senderId } }, context) =>
    wirePairing(await revokePairing({ account: name, senderId }, context)),
})

const showIdentities = operation({
  route: 'GET /v1/gateway/identities',
  scope: 'operator',
  summary: 'Lists accounts of people on chat platforms; those with the same `person_id` belong to one person',
  answer: z.array(identitySchema),
  handle: async (_, context) => (await listIdentities(context)).map(wireIdentity),
})

const unlink = operation({
  route: 'DELETE /v1/gateway/identities/:account/:sender_id',
  scope: 'operator',
  summary: 'Ends a link: this account is a person of its own again',
  audit: 'by-verb',
  params: {
    account: z.string().describe('Name of the account.'),
    sender_id: z.string().describe('Id of the person at the platform.'),
  },
  answer: identitySchema,
  handle: async ({ params: { account: name, sender_id: senderId } }, context) =>
    wireIdentity(await unlinkIdentity({ account: name, senderId }, context)),
})

export const gatewayOperations = [
  showAccounts,
  showSessions,
  showInbound,
  showOutbound,
  showPairings,
  approve,
  revoke,
  showIdentities,
  unlink,
]
