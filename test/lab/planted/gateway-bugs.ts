import { DISCORD_BUGS } from './discord-bugs.ts'
import type { PlantedBug } from './plant.ts'
import { SLACK_BUGS } from './slack-bugs.ts'

/** A bug in what both platforms use, for the simulated days of each. */
const onBoth = (bug: Omit<PlantedBug, 'lab'>): PlantedBug[] =>
  (['slack', 'discord'] as const).map((lab) => ({ ...bug, lab, name: `${bug.name} (${lab})` }))

/** Bugs in the gateway, for the simulator of two servers with one account. */
export const GATEWAY_BUGS: PlantedBug[] = [
  {
    name: 'updates are confirmed before they are stored',
    lab: 'gateway',
    file: 'gateway/telegram/telegram.ts',
    find: '      await commit(\n        updates.map((update) => rawUpdateOf(update, bot!)),\n        next,\n      )\n',
    replace:
      '      void commit(\n        updates.map((update) => rawUpdateOf(update, bot!)),\n        next,\n      ).catch(() => undefined)\n',
    breaks: 'nothing is lost: the offset moves after the commit',
  },
  {
    name: 'the cursor moves before its updates are stored',
    lab: 'gateway',
    file: 'gateway/account.ts',
    find: '      await acceptUpdates({ lease: scope.lease, updates, cursor }, context)\n      if (cursor !== undefined) account.cursor = cursor\n',
    replace:
      '      if (cursor !== undefined) account.cursor = cursor\n      await acceptUpdates({ lease: scope.lease, updates, cursor }, context)\n',
    breaks: 'nothing is lost: an update is acknowledged after the commit',
  },
  {
    name: 'a send of unknown outcome is repeated',
    lab: 'gateway',
    file: 'gateway/telegram/telegram.ts',
    find: "  sends: 'blind',\n",
    replace: "  sends: 'idempotent',\n",
    breaks: 'nothing happens twice: an answer is said once',
  },
  {
    name: 'an answer is sent again after a refused edit',
    lab: 'gateway',
    file: 'core/gateway/send-plan.ts',
    find: "  'rate-limited': { state: 'pending', wait: 'asked' },\n",
    replace: "  'rate-limited': { state: 'pending', wait: 'now', forgets: 'message' },\n",
    breaks: 'nothing happens twice: a refused edit waits and is made again',
  },
  {
    name: 'an edit without an answer becomes a new message',
    lab: 'gateway',
    file: 'core/gateway/send-plan.ts',
    find: "  edit: () => ({ state: 'pending', wait: 'backoff' }),\n",
    replace: "  edit: () => ({ state: 'pending', wait: 'backoff', forgets: 'message' }),\n",
    breaks: 'nothing happens twice: an edit is repeated in its message',
  },
  {
    name: 'an approval token works twice',
    lab: 'gateway',
    file: 'storage/gateway/chats.ts',
    find: "    .where('token', '=', p('token'))\n    .where('decision', 'is', null),\n",
    replace: "    .where('token', '=', p('token')),\n",
    breaks: 'nothing is hidden: the first press counts',
  },
  {
    name: 'two processes own one account',
    lab: 'gateway',
    file: 'storage/gateway/accounts.ts',
    find: '(select id from workers where expires_at > ',
    replace: "(select id from workers where id = 'none' and expires_at > ",
    breaks: 'nothing happens twice: one process receives for an account',
  },
  {
    name: 'the outcome of a run that no chat started is over before it is said',
    lab: 'gateway',
    file: 'service/gateway/deliver-outcome.ts',
    find: '  const messages = await messagesFor(delivery, texts, options, context)\n',
    replace:
      '  const messages = await messagesFor(delivery, texts, options, context)\n  if (delivery.isUnprompted) await end(delivery, scope, context)\n',
    breaks: 'nothing is lost: the messages and the end of a delivery are one commit',
  },
  {
    name: 'the chat hears only of runs that it started',
    lab: 'gateway',
    file: 'storage/migrations/018-gateway-people.ts',
    find: 'order by last_at desc limit 1',
    replace: 'order by last_at desc limit 0',
    breaks: 'nothing is hidden: the outcome of a run reaches the chat of its conversation',
  },
  {
    name: 'a handled message is handed over again under another key',
    lab: 'gateway',
    file: 'gateway/message-inputs.ts',
    find: 'row.key}` }]',
    replace: 'deps.context.deps.randomness.uuid()}` }]',
    breaks: 'nothing happens twice: the otid comes from the update',
  },
  ...SLACK_BUGS,
  ...DISCORD_BUGS,
  {
    name: 'the history of Slack is not read before a send is repeated',
    lab: 'slack',
    file: 'gateway/outbound-pump.ts',
    find: 'if (row.failures > 0 && platform.find) {',
    replace: 'if (row.failures < 0 && platform.find) {',
    breaks: 'nothing happens twice: an unknown send is looked for before it is made again',
  },
  ...onBoth({
    name: 'an approval token works twice',
    file: 'storage/gateway/chats.ts',
    find: "    .where('token', '=', p('token'))\n    .where('decision', 'is', null),\n",
    replace: "    .where('token', '=', p('token')),\n",
    breaks: 'nothing is hidden: the first press counts',
  }),
  ...onBoth({
    name: 'two processes own one account',
    file: 'storage/gateway/accounts.ts',
    find: '(select id from workers where expires_at > ',
    replace: "(select id from workers where id = 'none' and expires_at > ",
    breaks: 'nothing happens twice: one process receives for an account',
  }),
]
