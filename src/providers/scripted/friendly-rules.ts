import { defined } from '../../core/defined.ts'
import type { MessageBody } from '../../core/message.ts'
import { failureFor } from './friendly-failures.ts'
import type { FriendlyRule, RuleProgress } from './friendly-rule.ts'
import { WORKSPACE_RULES } from './friendly-workspace.ts'
import { LONG_STORY } from './long-story.ts'
import type { Reply } from './reply.ts'
import { findTimeZone } from './time-zone.ts'

/** The first match wins. Rules that quote free text come first: "remember to count to ten" is about remembering. */
const RULES: FriendlyRule[] = [
  {
    pattern: /^think (?:hard |carefully )?about (.+)$/,
    answer: ([, subject = '']) => ({
      reasoning:
        `The question is ${subject}. I am a script, so I have no opinion of my own. ` +
        'But I can show what it looks like when a model thinks before it speaks: this text is kept apart from the answer.',
      signature: 'scripted-thought',
      text: `I thought about ${subject}. My conclusion: it deserves a model with more than a few rules. What I thought is shown above.`,
    }),
  },
  {
    pattern: /\bwhat (?:do|did|can) you remember\b|\b(?:read|show|list)\b.*\bnotes?\b|\bread\b.*\bnotebook\b/,
    answer: () => ({ text: 'Let me open my notebook.', calls: [{ tool: 'read_notes', input: {} }] }),
  },
  {
    pattern: /\bforget (?:everything|all|it all)\b|\b(?:erase|delete|clear)\b.*\bnote(?:s|book)?\b/,
    answer: () => ({
      text: 'That cannot be undone, so it needs your approval first.',
      calls: [{ tool: 'erase_notes', input: {} }],
    }),
  },
  {
    pattern: /^(?:remember|note|make a note|take a note)(?: down)?(?: that| to self| of)?\s*[:,]?\s+(.+)$/,
    answer: ([, text = '']) => ({
      text: 'I will write that down.',
      calls: [{ tool: 'write_note', input: { text: text.slice(0, 4_000) } }],
    }),
  },
  {
    pattern: /\bpostcard to (.+?)(?:\s*(?:,|:|\bsaying\b|\bthat says\b|\bwith the words\b)\s*(?:saying\s+)?(.+))?$/,
    answer: ([, to = '', message = 'Greetings from Holdfast!']) => ({
      text: 'I have written it. It needs your approval before it is sent.',
      calls: [
        {
          tool: 'send_postcard',
          input: { to: withoutQuotes(to).slice(0, 200), message: withoutQuotes(message).slice(0, 2_000) },
        },
      ],
    }),
  },
  ...WORKSPACE_RULES,
  {
    pattern: /^(?:fail|break)\b(.*)$/,
    answer: ([order = '', how = '']) => ({
      // "break" stops in the middle of a sentence, "fail" before the first word.
      ...defined({
        text: /^break/i.test(order) ? 'Gladly. I will stop in the middle of this sentence.' : undefined,
        after: /^break/i.test(order) ? 6 : undefined,
      }),
      fail: failureFor(how),
    }),
  },
  {
    pattern: /\bcount (?:slowly )?(?:up )?(?:from (?:1|one) )?to (-?[\w]+)/,
    answer: ([, number = '']) => {
      const wanted = numberOf(number) ?? 10
      const to = clamp(wanted, 1, 100)
      const text = to === wanted ? `Counting to ${to}.` : `I only count from 1 to 100, so ${to} it is.`
      return {
        text: `${text} Cancel me whenever you have heard enough.`,
        calls: [{ tool: 'slow_count', input: { to } }],
      }
    },
  },
  {
    pattern: /\b(?:roll|throw)\s+(?:(\w+?)\s*)??(?:d(\d+)\b|(?:\w+-sided )?(?:dice|die)\b)/,
    answer: ([, count = '', sides = '6']) => {
      const dice = clamp(numberOf(count) ?? 1, 1, 10)
      const input = { sides: clamp(Number(sides), 2, 1_000) }
      const text = dice === 1 ? 'Here it goes.' : `Rolling ${dice} dice, all at once.`
      return { text, calls: Array.from({ length: dice }, () => ({ tool: 'roll_dice', input })) }
    },
  },
  {
    pattern: /\b(?:what time|what's the time|what is the time|the time|time is it)\b(?:.*?\bin (.+))?/,
    answer: ([, place]) => {
      if (!place) return { text: 'Let me look at the clock.', calls: [{ tool: 'current_time', input: {} }] }
      const name = place.replace(/\s*\b(?:now|right now|please|today)$/i, '')
      const timeZone = findTimeZone(name)
      if (!timeZone)
        return { text: `I do not know the time zone of ${name}. Try a big city, or a name like Asia/Tokyo.` }
      return { text: 'Let me look at the clock.', calls: [{ tool: 'current_time', input: { timeZone } }] }
    },
  },
  { pattern: /\bstory\b/, answer: () => ({ text: LONG_STORY }) },
]

const INTRODUCTION = `Hello! I am the built-in model: a handful of rules, so that you can try Holdfast without a key. Say:
- "what time is it in Tokyo" - I use a tool
- "remember that Ada likes tea", then "what do you remember"
- "write a small web page and serve it" - I work in a sandbox; the server I start outlives kill -9
- "run uname -a" or "write a small program", then "run it"
- "roll two dice" - several tools at once
- "send a postcard to Ada saying hi" or "forget everything" - I ask for approval first
- "count to 20" or "tell me a long story" - cancel me on the way, or stop the server and start it again
- "think about the sea" - I show my reasoning
- "fail with rate limit" - see how a provider failure is reported`

/** The first reply to a sentence. */
export function answerTo(sentence: string, messages: readonly MessageBody[]): Reply {
  if (sentence.length > MAX_SENTENCE) return { text: TOO_LONG }
  const found = findRule(sentence)
  return found ? found.rule.answer(found.match, messages) : { text: INTRODUCTION }
}

/** The reply after a round of tool calls without failures. */
export function nextReplyTo(sentence: string, progress: Omit<RuleProgress, 'match'>): Reply | undefined {
  const found = findRule(sentence)
  return found?.rule.next?.({ ...progress, match: found.match })
}

/** The patterns look for words in any place: their work grows with the square of the sentence. */
const MAX_SENTENCE = 10_000
const TOO_LONG = `That is too long for me: I am a handful of rules and read up to ${MAX_SENTENCE} characters. Real models read more.`

function findRule(input: string): { rule: FriendlyRule; match: RegExpExecArray } | undefined {
  if (input.length > MAX_SENTENCE) return undefined
  const sentence = normalizeSentence(input)
  for (const rule of RULES) {
    const match = new RegExp(rule.pattern, 'is').exec(sentence)
    if (match) return { rule, match }
  }
  return undefined
}

/** Normalizes curly quotes and removes politeness and the final punctuation. */
const normalizeSentence = (input: string): string =>
  withoutEnd(
    input
      .replaceAll(/[\u2018\u2019]/g, "'")
      .replaceAll(/[\u201C\u201D]/g, '"')
      .trim()
      .replace(/^(?:(?:hi|hello|hey|please|now|ok|okay)\b[\s,!.]*|(?:can|could|would|will) you (?:please )?)+/i, ''),
  ).trim()

function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && /[\s.!?]/.test(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}

const withoutQuotes = (text: string): string => text.trim().replace(/^["'](.+)["']$/s, '$1')

const NUMBER_WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const OTHER_NUMBERS: Record<string, number> = { a: 1, an: 1, couple: 2, some: 3, twenty: 20, hundred: 100 }

function numberOf(word: string): number | undefined {
  if (/^-?\d+$/.test(word)) return Number(word)
  const lower = word.toLowerCase()
  const index = NUMBER_WORDS.indexOf(lower)
  return index >= 0 ? index : OTHER_NUMBERS[lower]
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most)
