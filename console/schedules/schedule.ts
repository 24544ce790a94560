export type Schedule = {
  id: string
  agent_id: string
  conversation_id: string | null
  name: string
  state: 'active' | 'paused' | 'ended'
  timing:
    | { type: 'once'; at: string }
    | { type: 'interval'; every_seconds: number; from: string }
    | { type: 'cron'; expression: string; timezone: string }
  next_at: string | null
  ends_at: string | null
  quiet_hours: { from: string; to: string; timezone: string } | null
  grace_seconds: number
  coalesce: boolean
  model: string | null
  on_guarded: 'deny' | 'ask'
  heartbeat: { silence: string; rest_seconds: number; turns_per_day: number; dollars_per_day: number | null } | null
  messages: { role: string; content: unknown }[]
  last_run_id: string | null
  created_by: string
  created_at: string
}

const UNITS: [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
]

export function timingText({ timing }: Schedule): string {
  switch (timing.type) {
    case 'once':
      return `once, ${new Date(timing.at).toLocaleString()}`
    case 'interval': {
      const [unit, size] = UNITS.find(([, seconds]) => timing.every_seconds % seconds === 0) ?? ['s', 1]
      return `every ${timing.every_seconds / size} ${unit}`
    }
    case 'cron':
      return `${timing.expression} (${timing.timezone})`
  }
}

/** The message that it sends, as text. */
export function messageText({ messages }: Schedule): string {
  const partText = (part: { type: string; text?: string }) => (part.type === 'text' ? (part.text ?? '') : '(an image)')
  return messages
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : (content as { type: string }[]).map(partText)))
    .join('\n')
}

/** A schedule without a name is called by what it says. */
export function titleOf(schedule: Schedule): string {
  const text = messageText(schedule)
  return schedule.name || (text.length > 60 ? `${text.slice(0, 60)} …` : text) || schedule.id
}
