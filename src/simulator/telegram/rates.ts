/** The limits that Telegram is known for. It allows short bursts. */
export type SimulatedRates = {
  privatePerSecond: number
  privateBurst: number
  groupPerMinute: number
  perSecond: number
}

export const TELEGRAM_RATES: SimulatedRates = {
  privatePerSecond: 1,
  privateBurst: 4,
  groupPerMinute: 20,
  perSecond: 30,
}

/** Counts messages and edits, and says for how many seconds a bot must wait; 0: it may send. */
export function newRates(rates: SimulatedRates, now: () => number) {
  const byChat = new Map<string, number[]>()
  const all: number[] = []
  const dropBefore = (times: number[], before: number) => {
    while (times.length > 0 && times[0]! < before) times.shift()
  }
  return (bot: string, chat: { id: number }): number => {
    const at = now()
    const key = `${bot}/${chat.id}`
    const times = byChat.get(key) ?? []
    byChat.set(key, times)
    const isGroup = chat.id < 0
    const windowMs = isGroup ? 60_000 : rates.privateBurst * (1000 / rates.privatePerSecond)
    const most = isGroup ? rates.groupPerMinute : rates.privateBurst
    dropBefore(times, at - windowMs)
    dropBefore(all, at - 1_000)
    if (times.length >= most + (isGroup ? 0 : 1)) return Math.max(1, Math.ceil((times[0]! + windowMs - at) / 1000))
    if (all.length >= rates.perSecond) return 1
    times.push(at)
    all.push(at)
    return 0
  }
}
