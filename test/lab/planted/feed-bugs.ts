import type { PlantedBug } from './plant.ts'

/** Bugs in the feed of changes and in the history of blocks, for overlapping transactions on PostgreSQL. */
export const FEED_BUGS: PlantedBug[] = [
  {
    name: 'a change that commits late is skipped',
    lab: 'feed',
    file: 'storage/changes/changes.ts',
    find: "const isFinal = ({ name }: Dialect) =>\n  name === 'postgres'\n",
    replace: "const isFinal = ({ name }: Dialect) =>\n  (name as string) === 'none'\n",
    breaks: 'nothing is lost: positions of the feed follow the order of commits',
  },
  {
    name: 'the feed is in the order of its numbers',
    lab: 'feed',
    file: 'storage/changes/changes.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in the file like this
    find: "        .where(sql<boolean>`(txid, number) > (${p('transaction')}, ${p('number')})`)\n",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in the file like this
    replace: "        .where(sql<boolean>`number > ${p('number')} and ${p('transaction')} >= 0`)\n",
    breaks: 'nothing is lost: a lower number may commit later',
  },
  {
    name: 'what a reader replayed is delivered again',
    lab: 'feed',
    file: 'live/change-feed.ts',
    find: '      subscriber.waiting = subscriber.waiting.filter(({ position: at }) => isAfter(at, from))\n',
    replace: '',
    breaks: 'nothing happens twice: a change is delivered once',
  },
  {
    name: 'the history of a block keeps the new value',
    lab: 'feed',
    file: 'storage/migrations/017-block-versions.ts',
    find: '        length(old.value), old.value);\n',
    replace: '        length(old.value), new.value);\n',
    breaks: 'nothing is lost: a value that is replaced is kept',
  },
  {
    name: 'the history of a block keeps the last change only',
    lab: 'feed',
    file: 'storage/migrations/017-block-versions.ts',
    find: 'version <= old.version - 100 or',
    replace: 'version <= old.version - 1 or',
    breaks: 'nothing is lost: the last hundred values of a block are kept',
  },
]
