/** The limits that Slack is known for. It allows short bursts. */
export type SimulatedRates = {
  channelPerSecond: number
  channelBurst: number
  updatesPerMinute: number
  streamsPerMinute: number
}

export const SLACK_RATES: SimulatedRates = {
  channelPerSecond: 1,
  channelBurst: 4,
  updatesPerMinute: 50,
  streamsPerMinute: 20,
}

/** Counts calls, and says for how many seconds an app must wait; 0: it may call. */
export function newRates(rates: SimulatedRates, now: () => number) {
  const times = new Map<string, number[]>()
  function take(key: string, { most, windowMs }: { most: number; windowMs: number }): number {
    const at = now()
    const before = (times.get(key) ?? []).filter((each) => each > at - windowMs)
    times.set(key, before)
    if (before.length >= most) return Math.max(1, Math.ceil((before[0]! + windowMs - at) / 1_000))
    before.push(at)
    return 0
  }
  return (method: string, { channel }: Record<string, unknown>): number => {
    const { channelPerSecond, channelBurst: most, updatesPerMinute, streamsPerMinute } = rates
    switch (method) {
      case 'chat.postMessage':
        return take(`post/${channel}`, { most, windowMs: (most / channelPerSecond) * 1_000 })
      case 'chat.update':
        return take('update', { most: updatesPerMinute, windowMs: 60_000 })
      case 'chat.startStream':
      case 'chat.stopStream':
        return take(method, { most: streamsPerMinute, windowMs: 60_000 })
      default:
        return 0
    }
  }
}
