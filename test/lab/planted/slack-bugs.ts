import type { PlantedBug } from './plant.ts'

/** Bugs in the connection to Slack. */
export const SLACK_BUGS: PlantedBug[] = [
  {
    name: 'an envelope of Slack is acknowledged before its event is stored',
    lab: 'slack',
    file: 'gateway/slack/receive.ts',
    find: '      await save(updates)\n      for (const envelope of batch) void envelope.acknowledge().catch(() => undefined)\n',
    replace:
      '      for (const envelope of batch) void envelope.acknowledge().catch(() => undefined)\n      void save(updates).catch(() => undefined)\n',
    breaks: 'nothing is lost: Slack delivers again what was not acknowledged',
  },
  {
    name: 'after a reconnection the history of Slack is not read',
    lab: 'slack',
    file: 'gateway/slack/receive.ts',
    find: '    if (cursor === undefined) newest',
    replace: '    if (cursor !== null) newest',
    breaks: 'nothing is lost: what was said while nothing was connected is read',
  },
  {
    name: 'a message of Slack is another one as a mention',
    lab: 'slack',
    file: 'gateway/slack/read-event.ts',
    find: 'incoming.messageId}` : undefined,',
    replace: 'stored.id}` : undefined,',
    breaks: 'nothing happens twice: a message is known by its channel and its timestamp',
  },
  {
    name: 'a send to Slack has no key in its metadata',
    lab: 'slack',
    file: 'gateway/slack/slack.ts',
    find: 'event_payload: { key } },',
    replace: 'event_payload: {} },',
    breaks: 'nothing happens twice: an unknown send is found by its key',
  },
]
