import type { PlantedBug } from './plant.ts'

/** Bugs in the connection to Discord. */
export const DISCORD_BUGS: PlantedBug[] = [
  {
    name: 'events of Discord count as stored before they are',
    lab: 'discord',
    file: 'gateway/discord/receive.ts',
    find: '        await commit(updates, JSON.stringify(after(cursor, done)))\n',
    replace: '        void commit(updates, JSON.stringify(after(cursor, done))).catch(() => undefined)\n',
    breaks: 'nothing is lost: the sequence is the last committed one',
  },
  {
    name: 'the sequence of Discord is kept before its events are stored',
    lab: 'discord',
    file: 'gateway/discord/receive.ts',
    find: '    alive()\n    waiting.push(',
    replace:
      '    alive()\n    if (cursor.session) cursor.session.sequence = Math.max(cursor.session.sequence, dispatch.sequence)\n    waiting.push(',
    breaks: 'nothing is lost: a session is resumed after what is committed',
  },
  {
    name: 'after INVALID_SESSION the channels of Discord are not read',
    lab: 'discord',
    file: 'gateway/discord/receive.ts',
    find: 'gap: cursor.gap ?? cursor.newest })',
    replace: 'gap: cursor.gap })',
    breaks: 'nothing is lost: what was said between two sessions is read',
  },
  {
    name: 'a send to Discord has another nonce each time',
    lab: 'discord',
    file: 'gateway/discord/discord.ts',
    find: 'nonce: nonceOf(key),',
    replace: 'nonce: nonceOf(key + performance.now()),',
    breaks: 'nothing happens twice: a send that was slow is recognized by its nonce',
  },
  {
    name: 'a channel that Discord does not tell is none',
    lab: 'discord',
    file: 'gateway/discord/receive.ts',
    find: "    if (found.type === 'failed') throw new LookupFailed(found.failure)\n",
    replace: "    if (found.type === 'failed') return {}\n",
    breaks: 'nothing is lost: a message in a thread waits until its channel is known',
  },
]
